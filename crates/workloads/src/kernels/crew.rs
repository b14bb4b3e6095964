//! The threads that run a kernel: one alone, or the members of a team in parallel regions.

use std::cell::Cell;
use std::ops::Range;

use coho_counters::clock::{Clock, Ticks};

/// Something that runs parallel regions.
pub trait Crew {
    /// Runs `body` on every member and returns when all have ended it: fork and join.
    fn region(&mut self, body: impl Fn(&Member<'_>) + Sync);

    /// One parallel loop, split statically: every member gets one run of whole grains of `out` and the index at which
    /// it begins.
    fn split(&mut self, out: &mut [f64], grain: usize, body: impl Fn(usize, &mut [f64]) + Sync) {
        let parts = Parts { start: out.as_mut_ptr(), length: out.len() };
        self.region(|member| {
            let range = member.share(parts.length, grain);
            if !range.is_empty() {
                // SAFETY: the shares of different members are disjoint and lie within `out`, which stays borrowed
                // exclusively until the region has ended.
                let part = unsafe { parts.get(range.clone()) };
                body(range.start, part);
            }
        });
    }

    /// Whether every member records from now on how long it computes, which costs two readings of the clock for each
    /// region and two for each barrier.
    fn watch(&mut self, on: bool);

    /// The time that each member has computed while it was watched, since the last call; empty for a crew that has
    /// nothing to wait for.
    fn computed(&mut self) -> Vec<Ticks>;
}

/// A slice that members take disjoint parts of.
struct Parts {
    start: *mut f64,
    length: usize,
}

// SAFETY: it stands for an exclusively borrowed slice of numbers, whose parts may be written by any thread.
unsafe impl Sync for Parts {}

impl Parts {
    /// # Safety
    /// The range lies within the slice, and no two parts in use at the same time overlap.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get(&self, range: Range<usize>) -> &mut [f64] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// One thread of a region.
pub struct Member<'a> {
    /// From 0 to `n` - 1.
    pub rank: usize,
    /// Members of the region.
    pub n: usize,
    wait: &'a dyn Fn(),
    clock: Option<&'a Clock>,
    waited: Cell<Ticks>,
}

impl<'a> Member<'a> {
    /// A member that waits for the others by `wait`; with a clock, it records how long it waited.
    pub fn new(rank: usize, n: usize, wait: &'a dyn Fn(), clock: Option<&'a Clock>) -> Self {
        Self { rank, n, wait, clock, waited: Cell::new(0) }
    }

    /// Waits until all members have come here.
    #[inline]
    pub fn barrier(&self) {
        match self.clock {
            None => (self.wait)(),
            Some(clock) => {
                let before = clock.now();
                (self.wait)();
                self.waited.set(self.waited.get() + clock.now() - before);
            }
        }
    }

    /// Time spent in barriers.
    pub fn waited(&self) -> Ticks {
        self.waited.get()
    }

    /// This member's part of `length` elements: whole grains except for the last, as even as possible.
    #[inline]
    pub fn share(&self, length: usize, grain: usize) -> Range<usize> {
        share(self.rank, self.n, length, grain)
    }
}

/// The share of one of `n` ranks: the first ranks get one grain more where the grains do not divide evenly.
fn share(rank: usize, n: usize, length: usize, grain: usize) -> Range<usize> {
    let grains = length.div_ceil(grain);
    let (each, over) = (grains / n, grains % n);
    let start = rank * each + rank.min(over);
    let end = start + each + usize::from(rank < over);
    (start * grain).min(length)..(end * grain).min(length)
}

/// One thread without any barrier, with which a team's time is compared.
pub struct Alone;

impl Crew for Alone {
    #[inline]
    fn region(&mut self, body: impl Fn(&Member<'_>) + Sync) {
        body(&Member::new(0, 1, &|| (), None));
    }

    fn watch(&mut self, _: bool) {}

    fn computed(&mut self) -> Vec<Ticks> {
        Vec::new()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Threads of the standard library, which may outnumber the CPUs.
    pub(in crate::kernels) struct Threads(pub(in crate::kernels) usize);

    impl Crew for Threads {
        fn region(&mut self, body: impl Fn(&Member<'_>) + Sync) {
            let barrier = std::sync::Barrier::new(self.0);
            let wait = || {
                barrier.wait();
            };
            std::thread::scope(|scope| {
                for rank in 0..self.0 {
                    let (body, wait, n) = (&body, &wait, self.0);
                    scope.spawn(move || body(&Member::new(rank, n, wait, None)));
                }
            });
        }

        fn watch(&mut self, _: bool) {}

        fn computed(&mut self) -> Vec<Ticks> {
            Vec::new()
        }
    }

    #[test]
    fn a_member_tells_how_long_it_waited() {
        let clock = Clock::get();
        let nap = || std::thread::sleep(std::time::Duration::from_millis(2));
        let member = Member::new(0, 1, &nap, Some(&clock));
        member.barrier();
        member.barrier();
        assert!(clock.ns(member.waited()) >= 3.9e6);
    }

    #[test]
    fn splits_whole_grains_and_the_rest() {
        let shares = |n, length, grain| (0..n).map(|rank| share(rank, n, length, grain)).collect::<Vec<_>>();
        assert_eq!(shares(2, 64, 8), [0..32, 32..64]);
        assert_eq!(shares(3, 20, 8), [0..8, 8..16, 16..20]);
        assert_eq!(shares(3, 8, 8), [0..8, 8..8, 8..8]);
    }

    #[test]
    fn one_thread_writes_everything() {
        let mut out = vec![0.0; 10];
        Alone.split(&mut out, 4, |start, part| part.iter_mut().zip(start..).for_each(|(x, i)| *x = i as f64));
        assert!(out.iter().zip(0..).all(|(&x, i)| x == f64::from(i)));
    }

    proptest! {
        #[test]
        fn shares_cover_all_once_and_evenly(n in 1usize..40, length in 0usize..3000, grain in 1usize..70) {
            let mut end = 0;
            for rank in 0..n {
                let range = share(rank, n, length, grain);
                prop_assert_eq!(range.start, end);
                prop_assert!(range.len() <= length.div_ceil(grain).div_ceil(n) * grain);
                end = range.end;
            }
            prop_assert_eq!(end, length);
        }
    }
}
