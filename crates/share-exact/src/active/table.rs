//! A thread's counts: for each call, and each place that it accesses, a number in the recording.

use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::compiler_fence;

use coho_preload::{Errno, give_back, reserve};
use coho_recording::{Access, Record, Writer};

use super::begin::{self, Process, process};
use super::slots;

/// Entries of a new table, as a power of two.
const FIRST: u32 = 9;
/// Entries of the largest: a thread that accesses more places is counted at some.
const LAST: u32 = 20;
/// Accesses after which the time is looked at again, at most.
const MOST_UNSEEN: u16 = 255;

/// Places that are recorded in a slot of time: those of a thread that uses many are counted, and seen in some slots.
/// What it uses most it comes to first.
const MOST_TOLD: u32 = 256;

/// A place: a call with an address.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Entry {
    address: u64,
    /// The call's address, the bytes and the access; 0 for an empty entry.
    call: u64,
    /// Where the recording counts it, or the table if that has no room.
    counter: NonNull<u64>,
    /// The slot of time in which it was recorded last.
    slot: u32,
    /// Accesses until the time is looked at, and from then until the next time.
    unseen: u16,
    pause: u16,
}

/// One thread's. It lies at the beginning of its own memory, before the entries.
#[derive(Debug)]
pub struct Table {
    process: &'static Process,
    writer: Writer,
    entries: NonNull<Entry>,
    /// How many there are, as a power of two, and how many are in use.
    power: u32,
    used: usize,
    /// Entries that were too few, by how many they were less [`FIRST`]: a signal may have come in the middle of looking
    /// at them.
    old: [Option<NonNull<Entry>>; (LAST - FIRST) as usize],
    /// Counts for which the recording has no room.
    lost: u64,
    /// The slot of time of the thread's last tick.
    slot: u32,
    /// Places that were recorded in that slot.
    told: u32,
}

impl Table {
    /// The calling thread's; null if nothing is recorded, or there is no room.
    pub fn new() -> *mut Self {
        let new = || {
            let process = process()?;
            // SAFETY: neither has arguments, or can fail. glibc has `gettid` only from 2.30 on.
            let (own, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
            let table = reserve(size_of::<Self>())?.cast::<Self>();
            let Some(entries) = entries(FIRST) else {
                give_back(table.cast(), size_of::<Self>());
                return None;
            };
            let writer = process.recorder.writer(own as u32, thread as u32);
            // SAFETY: new memory of this size, aligned to a page.
            unsafe {
                let old = [None; (LAST - FIRST) as usize];
                table.write(Self {
                    process,
                    writer,
                    entries,
                    power: FIRST,
                    used: 0,
                    old,
                    lost: 0,
                    slot: 0,
                    told: 0,
                });
            }
            begin::notice_end();
            Some(table)
        };
        new().map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    /// Frees one that nobody uses any more; its counts stay in the recording.
    pub fn give_back(table: *mut Self) {
        let Some(table) = NonNull::new(table) else { return };
        // SAFETY: the caller's promise.
        let Self { entries, power, old, .. } = unsafe { table.as_ref() };
        let olds = old.iter().zip(FIRST..).filter_map(|(old, power)| Some(((*old)?, power)));
        for (entries, power) in olds.chain([(*entries, *power)]) {
            give_back(entries.cast(), size_of::<Entry>() << power);
        }
        give_back(table.cast(), size_of::<Self>());
    }

    /// Counts an access to a place that was counted before, unless it is time to look at the time; whether it did. A
    /// signal may come in its middle, whose handler may do the same.
    ///
    /// # Safety
    /// The calling thread's own table.
    #[inline(always)]
    pub unsafe fn count_again(table: *const Self, address: usize, call: u64) -> bool {
        // SAFETY: the table and its entries, older ones too, are there until the thread ends; the counter's place stays
        // mapped, and nobody else counts there.
        unsafe {
            let power = (*table).power;
            let entry = (*table).entries.add(first(address as u64, call, power)).as_ptr();
            let is_it = (*entry).call == call && (*entry).address == address as u64 && (*entry).unseen > 0;
            if is_it {
                (*entry).unseen -= 1;
                *(*entry).counter.as_ptr() += 1;
            }
            is_it
        }
    }

    /// Counts an access.
    pub fn count(&mut self, pc: u64, address: usize, bytes: u8, access: Access) {
        let (address, call) = (address as u64, call(pc, bytes, access));
        let Some(entry) = self.entry(address, call) else { return };
        if entry.call == 0 {
            return self.add(address, call, Record::Counted { pc, address, bytes, access, times: 1 });
        }
        // SAFETY: in the recording, which stays mapped, or the table; the thread's own.
        unsafe { *entry.counter.as_ptr() += 1 };
        if entry.unseen > 0 {
            entry.unseen -= 1;
            return;
        }
        self.look_at_time(pc, address, bytes, access, call);
    }

    /// The entry of a place, an empty one if it has none; `None` if all that it may have are taken.
    #[inline(always)]
    fn entry(&mut self, address: u64, call: u64) -> Option<&mut Entry> {
        const PROBES: usize = 16;
        let mask = (1_usize << self.power) - 1;
        let first = first(address, call, self.power);
        for at in 0..PROBES {
            // SAFETY: below the number of entries.
            let entry = unsafe { self.entries.add((first + at) & mask).as_mut() };
            if entry.call == call && entry.address == address || entry.call == 0 {
                return Some(entry);
            }
        }
        None
    }

    #[cold]
    fn add(&mut self, address: u64, call: u64, record: Record) {
        let _errno = Errno::kept();
        if 4 * (self.used + 1) > 3 << self.power && !self.grow() {
            return;
        }
        let counter = self.writer.write_counter(record).unwrap_or(NonNull::from(&mut self.lost));
        let Some(entry) = self.entry(address, call) else { return };
        *entry = Entry { address, call, counter, slot: 0, unseen: 0, pause: 0 };
        self.used += 1;
        if let Record::Counted { pc, bytes, access, .. } = record {
            self.look_at_time(pc, address, bytes, access, call);
        }
    }

    /// Doubles the entries; false if there is no room.
    fn grow(&mut self) -> bool {
        let (old, count) = (self.entries, 1_usize << self.power);
        let Some(new) = Some(self.power + 1).filter(|&power| power <= LAST).and_then(entries) else {
            return false;
        };
        // In this order: whoever looks meanwhile looks within either.
        self.entries = new;
        compiler_fence(SeqCst);
        self.power += 1;
        for at in 0..count {
            // SAFETY: below the number of the old entries.
            let entry = unsafe { old.add(at).read() };
            if entry.call != 0
                && let Some(place) = self.entry(entry.address, entry.call)
            {
                *place = entry;
            }
        }
        self.old[(self.power - 1 - FIRST) as usize] = Some(old);
        true
    }

    /// Records that the thread is here, once in a slot of time.
    #[cold]
    fn look_at_time(&mut self, pc: u64, address: u64, bytes: u8, access: Access, call: u64) {
        let time = slots::now();
        let slot = slots::of(time.saturating_sub(self.process.started));
        let Some(entry) = self.entry(address, call).filter(|entry| entry.call != 0) else { return };
        // The time is looked at as seldom as the accesses come fast.
        entry.pause = match entry.slot == slot {
            true => (2 * entry.pause + 1).min(MOST_UNSEEN),
            false => entry.pause / 2,
        };
        entry.unseen = entry.pause;
        if std::mem::replace(&mut entry.slot, slot) == slot {
            return;
        }
        if self.slot == slot && self.told >= MOST_TOLD {
            return;
        }
        let _errno = Errno::kept();
        // Before the time of the access: whoever else names the block finds it reported by then.
        if let Some(report) = self.process.report {
            report(address);
        }
        let time = slots::now();
        if std::mem::replace(&mut self.slot, slot) != slot {
            self.told = 0;
            self.writer.write(Record::Tick { time, pc });
        }
        self.told += 1;
        self.writer.write(Record::Operand {
            time,
            pc,
            address,
            bytes,
            access,
            length: 0,
            ahead: 0,
            is_certain: true,
        });
    }
}

/// A call, the bytes and the access as an entry has them; never 0.
#[inline(always)]
pub fn call(pc: u64, bytes: u8, access: Access) -> u64 {
    pc & ((1 << 48) - 1) | u64::from(bytes) << 48 | (1 + access as u64) << 56
}

/// Where a place is looked for first.
#[inline(always)]
fn first(address: u64, call: u64, power: u32) -> usize {
    let hash = (address ^ call.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (64 - power)) as usize
}

/// Empty entries.
fn entries(power: u32) -> Option<NonNull<Entry>> {
    Some(reserve(size_of::<Entry>() << power)?.cast())
}
