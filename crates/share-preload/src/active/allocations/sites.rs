//! Sites: places of the program that allocate, told apart by who has called them.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use coho_recording::{Record, Writer};

use super::super::thread::this;
use super::frames::{self, MOST};
use super::padding;

const SITES: usize = 1 << 16;
/// Places that a site may have.
const PROBES: usize = 64;

struct Site {
    /// Of its frames; 0 if there is none.
    hash: AtomicU64,
    /// In the order of the stack; 0 after the last.
    frames: [AtomicU64; MOST],
    /// In which process it was reported last.
    reported: AtomicU64,
}

static LIST: [Site; SITES] = [const {
    Site { hash: AtomicU64::new(0), frames: [const { AtomicU64::new(0) }; MOST], reported: AtomicU64::new(0) }
}; SITES];

/// Which process of a line of forks this is: 1 at first, below 128.
static GENERATION: AtomicU64 = AtomicU64::new(1);

pub fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// In a forked process: nothing was reported of it.
pub fn forget_reports() {
    GENERATION.store(generation() % 127 + 1, Relaxed);
}

/// Where memory is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The site's number; 0 if it is not known.
    pub site: u16,
    /// Whether its memory gets lines of its own.
    pub is_padded: bool,
}

/// What was found on a stack, kept for the next time that it looks the same.
#[derive(Default)]
pub struct Seen {
    /// 0 if nothing was found yet.
    stack: Cell<usize>,
    count: Cell<u8>,
    /// Of the words that point into code: their numbers from there on, and themselves.
    numbers: [Cell<u8>; MOST],
    pcs: [Cell<u64>; MOST],
    place: Cell<Place>,
}

/// How many a thread keeps.
pub const SEEN: usize = 64;
/// Words that are compared: functions that do nothing but allocate call each other less deeply.
const COMPARED: usize = 4;

impl Seen {
    /// Nothing, as the stack is another thread's from now on.
    pub fn forget(&self) {
        self.stack.set(0);
    }

    /// Whether a stack looks the same.
    ///
    /// # Safety
    /// As [`frames::words`].
    #[inline]
    unsafe fn is(&self, stack: *const u64) -> bool {
        // SAFETY: so many words were there when the thread's stack was as deep.
        let word = |number: u8| unsafe { *stack.add(number.into()) };
        let count = usize::from(self.count.get()).min(COMPARED);
        let those = self.numbers[..count].iter().zip(&self.pcs);
        // Without a branch for each word.
        self.stack.get() == stack as usize
            && those.fold(0, |differ, (number, pc)| differ | word(number.get()) ^ pc.get()) == 0
    }
}

/// The place from which a function was called.
///
/// # Safety
/// As [`frames::words`].
#[inline]
pub unsafe fn place(stack: *const u64) -> Place {
    let seen = this().slot().map(|slot| {
        // SAFETY: the caller's promise.
        let key =
            (unsafe { *stack } as usize ^ stack as usize >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        &slot.seen[key % SEEN]
    });
    // SAFETY: the caller's promise, for both.
    unsafe {
        match seen {
            Some(seen) if seen.is(stack) => seen.place.get(),
            _ => look(stack, seen),
        }
    }
}

/// # Safety
/// As [`frames::words`].
#[cold]
unsafe fn look(stack: *const u64, seen: Option<&Seen>) -> Place {
    // SAFETY: the caller's promise.
    let words = unsafe { frames::words(stack) };
    let (frames, count) = frames::frames(words);
    let pcs = frames.map(|(_, pc)| pc);
    let place = Place { site: find(&pcs[..count]), is_padded: padding::is_padded(words[0]) };
    if let Some(seen) = seen {
        seen.stack.set(stack as usize);
        seen.count.set(count as u8);
        for ((number, pc), found) in seen.numbers.iter().zip(&seen.pcs).zip(frames) {
            number.set(found.0);
            pc.set(found.1);
        }
        seen.place.set(place);
    }
    place
}

/// The number of the site with these frames, a new one if there is none; 0 if there are too many.
fn find(pcs: &[u64]) -> u16 {
    let mix = |hash: u64, pc: &u64| (hash.rotate_left(23) ^ pc).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = pcs.iter().fold(0, mix) | 1;
    let first = (hash >> 48) as usize;
    for number in (0..PROBES).map(|probe| (first + probe) % SITES).filter(|&number| number != 0) {
        let site = &LIST[number];
        let there = match site.hash.compare_exchange(0, hash, AcqRel, Acquire) {
            Ok(_) => {
                site.frames.iter().zip(pcs).for_each(|(frame, &pc)| frame.store(pc, Release));
                hash
            }
            Err(there) => there,
        };
        if there == hash {
            return number as u16;
        }
    }
    0
}

/// Reports a site's frames, once in each process.
pub fn report(number: u16, writer: &mut Writer) {
    let site = &LIST[usize::from(number)];
    let generation = generation();
    if number == 0 || site.reported.swap(generation, Relaxed) == generation {
        return;
    }
    for (frame, depth) in site.frames.iter().zip(0..) {
        let pc = frame.load(Acquire);
        if pc != 0 {
            writer.write(Record::Frame { site: number.into(), depth, pc });
        }
    }
}
