//! Loops whose iterations wait for certain earlier ones (`ordered` with `depend`), as gcc compiles them: the library knows
//! iterations by their numbers, from 0 in each loop of the nest, and shares out those of the outermost.

use std::slice;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::{c_int, c_long, c_uint, c_ulonglong, c_void};

use super::Bounds;
use super::ffi::{chosen, hand_over};
use super::general::{IN_ORDER, named};
use crate::here::{Membership, here};
use crate::kmp::arguments::{HANDED_IN_REGISTERS, Micro, of_words};
use crate::settings::{Kind, Schedule};
use crate::task::{begin_workshare, wait_until};

/// What the members of such a loop have in common: how many loops the nest has, the iterations of each, and for each
/// iteration of the outermost how far it has got. The one who executes it writes that.
#[derive(Debug, Clone, Copy)]
struct Nest(*const AtomicU64);

impl Nest {
    /// How many words it takes, in whole cache lines.
    fn words(counts: &[u64]) -> usize {
        let progress = usize::try_from(counts.first().copied().unwrap_or(0)).unwrap_or(usize::MAX);
        progress.saturating_add(1 + counts.len()).div_ceil(8).saturating_mul(8)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: there are so many, as whoever asks knows.
        unsafe { &*self.0.add(at) }
    }

    /// Each member writes the same.
    fn begin(self, counts: &[u64]) {
        self.word(0).store(counts.len() as u64, Relaxed);
        counts.iter().enumerate().for_each(|(at, &count)| self.word(1 + at).store(count, Relaxed));
    }

    fn loops(self) -> usize {
        self.word(0).load(Relaxed) as usize
    }

    /// How far an iteration of the outermost loop has got, and how far that is when it gets to this iteration of the
    /// nest; `None` if there is no such iteration.
    fn place(&self, numbers: impl Iterator<Item = u64>) -> Option<(&AtomicU64, u64)> {
        let (mut outermost, mut within) = (0, 0_u64);
        for (at, number) in numbers.enumerate() {
            let count = self.word(1 + at).load(Relaxed);
            if number >= count {
                return None;
            }
            match at {
                0 => outermost = number as usize,
                _ => within = within.wrapping_mul(count).wrapping_add(number),
            }
        }
        Some((self.word(1 + self.loops() + outermost), within + 1))
    }
}

impl Membership {
    /// The innermost nest; `None` in a team of one, which executes iterations in order.
    fn nest(&self) -> Option<Nest> {
        self.member()?;
        self.common().map(|memory| Nest(memory.cast_const().cast()))
    }

    /// Begins a nest, and returns memory of so many bytes that its members have in common.
    fn begin_nest(&self, counts: &[u64], bytes: usize) -> *mut c_void {
        let words = if self.member().is_some() { Nest::words(counts) } else { 0 };
        let memory = self.enter_common(words.saturating_mul(size_of::<u64>()).saturating_add(bytes));
        if let Some(nest) = self.nest() {
            nest.begin(counts);
        }
        memory.cast::<u64>().wrapping_add(words).cast()
    }
}

/// Begins a loop, and hands over the first chunk. Iterations are handed out in ascending order, as later ones wait for
/// earlier ones.
///
/// # Safety
/// All pointers are null or the compiler's.
unsafe fn begin(
    (loops, counts): (c_uint, *const u64),
    schedule: Schedule,
    (from, to): (*mut u64, *mut u64),
    (reductions, memory): (*mut usize, *mut *mut c_void),
) -> bool {
    let membership = here();
    // SAFETY: as the caller promises.
    unsafe {
        let counts = slice::from_raw_parts(counts, loops as usize);
        begin_workshare(membership, reductions);
        let memory = memory.as_mut();
        let common = membership.begin_nest(counts, memory.as_ref().map_or(0, |memory| memory.addr()));
        if let Some(memory) = memory {
            *memory = common;
        }
        membership.begin_loop(
            Bounds::unsigned(true, 0, counts.first().copied().unwrap_or(0), 1),
            schedule,
            false,
        );
        from.is_null() || hand_over(membership, from, to)
    }
}

macro_rules! starts {
    ($($signed:ident, $unsigned:ident: |$chunk:ident| $schedule:expr;)*) => { $(
        pub unsafe extern "C" fn $signed(
            loops: c_uint, counts: *const c_long, $chunk: c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            let ($chunk, none) = ($chunk.max(0) as u64, std::ptr::null_mut());
            // SAFETY: the compiler's; a long that is not negative has the size and the value of its unsigned form.
            unsafe { begin((loops, counts.cast()), $schedule, (from.cast(), to.cast()), (none, none.cast())) }
        }

        pub unsafe extern "C" fn $unsigned(
            loops: c_uint, counts: *const c_ulonglong, $chunk: c_ulonglong, from: *mut c_ulonglong,
            to: *mut c_ulonglong,
        ) -> bool {
            let none = std::ptr::null_mut();
            // SAFETY: the compiler's.
            unsafe { begin((loops, counts), $schedule, (from, to), (none, none.cast())) }
        }
    )* };
}

starts! {
    doacross_static_start, ull_doacross_static_start: |chunk| Schedule { kind: Kind::Static, chunk };
    doacross_dynamic_start, ull_doacross_dynamic_start: |chunk| Schedule { kind: Kind::Dynamic, chunk };
    doacross_guided_start, ull_doacross_guided_start: |chunk| Schedule { kind: Kind::Guided, chunk };
}

/// The user's schedule; longs that are not negative are as their unsigned forms.
pub unsafe extern "C" fn doacross_runtime_start(
    loops: c_uint,
    counts: *const u64,
    from: *mut u64,
    to: *mut u64,
) -> bool {
    let none = std::ptr::null_mut();
    // SAFETY: the compiler's.
    unsafe { begin((loops, counts), chosen(), (from, to), (none, none.cast())) }
}

/// The schedule is an argument; as above.
pub unsafe extern "C" fn doacross_start(
    loops: c_uint,
    counts: *const u64,
    schedule: c_long,
    chunk: u64,
    from: *mut u64,
    to: *mut u64,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> bool {
    // SAFETY: the compiler's.
    unsafe { begin((loops, counts), named(schedule | IN_ORDER, chunk), (from, to), (reductions, memory)) }
}

/// The iteration that a member executes has got so far.
pub unsafe extern "C-unwind" fn doacross_post(numbers: *const u64) {
    let Some(nest) = here().nest() else { return };
    // SAFETY: the compiler's, one for each loop.
    let numbers = (0..nest.loops()).map(|at| unsafe { *numbers.add(at) });
    if let Some((progress, to)) = nest.place(numbers) {
        progress.store(to, Release);
    }
}

/// Waits until an iteration has got so far. It takes as many numbers as the nest has loops.
///
/// # Safety
/// The compiler's.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn doacross_wait() {
    of_words!(wait)
}

/// The first three words lie before those that are said to be in registers.
const BEFORE: usize = 3;

unsafe extern "C-unwind" fn wait(
    _: *const c_void,
    _: c_int,
    _: Micro,
    registers: *const usize,
    stack: *const usize,
) -> *mut c_void {
    if let Some(nest) = here().nest() {
        let in_registers = BEFORE + HANDED_IN_REGISTERS;
        // SAFETY: the compiler hands over one for each loop; those in registers are saved one after the other.
        let number = |at: usize| unsafe {
            if at < in_registers { *registers.sub(BEFORE).add(at) } else { *stack.add(at - in_registers) }
        };
        if let Some((progress, to)) = nest.place((0..nest.loops()).map(|at| number(at) as u64)) {
            wait_until(|| progress.load(Acquire) >= to);
        }
    }
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_iteration_is_further_than_those_before_it() {
        let words: Vec<_> =
            std::iter::repeat_with(AtomicU64::default).take(Nest::words(&[4, 3, 2])).collect();
        let nest = Nest(words.as_ptr());
        nest.begin(&[4, 3, 2]);
        let place = |numbers: [u64; 3]| nest.place(numbers.into_iter()).map(|(word, to)| (word.as_ptr(), to));
        let mut words = Vec::new();
        for outermost in 0..4 {
            let mut before = 0;
            for middle in 0..3 {
                for inner in 0..2 {
                    let (word, to) = place([outermost, middle, inner]).unwrap();
                    assert!(to > before, "{outermost} {middle} {inner}");
                    before = to;
                    words.push(word);
                }
            }
        }
        words.dedup();
        assert_eq!(words.len(), 4);
        assert_eq!([[4, 0, 0], [0, 3, 0], [0, 0, u64::MAX]].map(place), [None; 3]);
    }
}
