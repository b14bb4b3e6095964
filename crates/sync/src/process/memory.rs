//! What lies in the memory that the ranks share. It holds no addresses: each process sees it at another one.

use std::mem::{align_of, offset_of, size_of};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use super::life::Life;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Bell, Courtesy, Gap};

/// CPUs that ranks can name; those beyond count as this many of their own.
pub(super) const CPUS: usize = 4096;

/// All that is there once for all ranks. What is not written by [`Memory::make`] begins as 0.
#[repr(C)]
pub(super) struct Common {
    /// The [`Memory::LAYOUT`] of the rank that has made it, or 0. All ranks look here before they look elsewhere.
    made: Padded<AtomicU32>,
    /// How many ranks have come.
    pub(super) joined: AtomicU32,
    /// How many of them cannot be fenced by the others.
    pub(super) unfenced: AtomicU32,
    /// The CPUs that they may use, a bit each.
    pub(super) cpus: [AtomicU64; CPUS / 64],
    /// Whether a rank is lost, which ends all waits; read by those that have waited long.
    pub(super) is_lost: Padded<AtomicBool>,
    /// Which one, from 1.
    pub(super) lost: AtomicU32,
    /// Where all ranks sleep.
    pub(super) bell: Padded<Bell>,
    /// Only rank 0 learns, so nobody waits for its lock.
    pub(super) gap: Gap,
    /// What all ranks know about yielding: what one of them loses by it, all lose.
    pub(super) courtesy: Padded<Courtesy>,
    /// The flags of two ranks, which share a line.
    pub(super) pair: Padded<[Flag; 2]>,
}

/// What is there for each rank.
#[repr(C)]
pub(super) struct Place {
    /// The flag, if there are more than two.
    pub(super) flag: Padded<Flag>,
    /// [`ABSENT`], [`HERE`] or [`GONE`].
    pub(super) presence: Padded<AtomicU32>,
    pub(super) life: Life,
}

pub(super) const ABSENT: u32 = 0;
pub(super) const HERE: u32 = 1;
pub(super) const GONE: u32 = 2;

/// The shared memory, as long as a rank takes part.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    start: NonNull<u8>,
    ranks: usize,
}

impl Memory {
    pub(super) const ALIGNMENT: usize = align_of::<Common>();
    /// Tells versions and builds apart that lay it out differently.
    const LAYOUT: u32 = layout();

    /// How many bytes it takes.
    pub(super) const fn bytes(ranks: usize) -> usize {
        Self::places_at() + ranks * Self::stride()
    }

    const fn places_at() -> usize {
        size_of::<Common>().next_multiple_of(align_of::<Place>())
    }

    const fn stride() -> usize {
        size_of::<Place>()
    }

    /// # Safety
    /// The memory is [`Memory::bytes`] long, aligned to [`Memory::ALIGNMENT`], began as zeros, is written by nothing but
    /// this module's users and stays mapped as long as the result and its copies are used.
    pub(super) unsafe fn at(start: NonNull<u8>, ranks: usize) -> Self {
        Self { start, ranks }
    }

    /// The word by which ranks learn that the rest is there.
    fn made(&self) -> &AtomicU32 {
        // SAFETY: within the memory, aligned, and used as an atomic word alone.
        unsafe { self.start.add(offset_of!(Common, made)).cast().as_ref() }
    }

    /// Writes the fields whose first value is not 0. Rank 0 calls it, once.
    pub(super) fn make(&self) {
        let common = self.start.cast::<Common>().as_ptr();
        // SAFETY: within the memory and aligned; nobody else looks at these before the word below says that they are there.
        unsafe {
            (&raw mut (*common).bell).write(Padded(Bell::between_processes()));
            (&raw mut (*common).gap).write(Gap::of_barrier());
        }
        self.made().store(Self::LAYOUT, std::sync::atomic::Ordering::Release);
    }

    /// Whether it was made, and by a rank that lays it out in the same way.
    pub(super) fn is_made(&self) -> Option<bool> {
        match self.made().load(std::sync::atomic::Ordering::Acquire) {
            0 => None,
            layout => Some(layout == Self::LAYOUT),
        }
    }

    /// What all ranks share. It has been made.
    #[inline(always)]
    pub(super) fn common(&self) -> &Common {
        // SAFETY: within the memory and aligned; all of it was made, and is written through atomics alone.
        unsafe { self.start.cast().as_ref() }
    }

    /// What ranks know about yielding, which zeros are a value of.
    ///
    /// # Safety
    /// It is not used after the memory.
    pub(super) unsafe fn courtesy(&self) -> &'static Courtesy {
        // SAFETY: as `common`; the caller sees to its end.
        unsafe { &(*self.start.cast::<Common>().as_ptr()).courtesy }
    }

    /// A rank's own, which is valid as zeros.
    #[inline(always)]
    pub(super) fn place(&self, rank: usize) -> &Place {
        debug_assert!(rank < self.ranks);
        // SAFETY: as above; the rank has a place.
        unsafe { self.start.add(Self::places_at() + rank * Self::stride()).cast().as_ref() }
    }

    /// A rank's flag.
    #[inline(always)]
    pub(super) fn flag(&self, rank: usize) -> &Flag {
        if self.ranks == 2 { &self.common().pair[rank & 1] } else { &self.place(rank).flag }
    }
}

/// Of the version, the sizes and the C library, whose locks lie there; never 0.
const fn layout() -> u32 {
    const fn mix(hash: u32, byte: u8) -> u32 {
        (hash ^ byte as u32).wrapping_mul(0x0100_0193)
    }
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let (mut hash, mut at) = (0x811c_9dc5, 0);
    while at < version.len() {
        hash = mix(hash, version[at]);
        at += 1;
    }
    let sizes = [size_of::<Common>(), size_of::<Place>(), offset_of!(Common, bell), offset_of!(Common, gap)];
    let mut at = 0;
    while at < sizes.len() {
        hash = mix(mix(hash, (sizes[at] >> 8) as u8), sizes[at] as u8);
        at += 1;
    }
    mix(hash, cfg!(target_env = "musl") as u8) | 1
}
