//! The serial part that the caller of a region runs before it, during which all others begin to wait (Nakamura et al.,
//! Fig. 3-2).

use std::hint::black_box;

use crate::clock::Clock;

/// How many turns are timed to find the time of one.
const MANY: u64 = 20_000;
/// How many series of these are timed; the quickest was not interrupted.
const SERIES: usize = 5;
/// How many times as long as a region back to back the serial part is, so that even the slowest member waits again.
const REGIONS: f64 = 2.0;
/// The range of a serial part's time, in ns: long enough for all threads to spin again, short enough that none goes to
/// sleep.
const RANGE_NS: (f64, f64) = (200.0, 50_000.0);

/// A serial part of a fixed number of additions and multiplications that wait for each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Serial {
    turns: u64,
}

impl Serial {
    /// One that is longer than a region that took `region_ns` back to back.
    pub(super) fn before(region_ns: f64) -> Self {
        let quickest = (0..SERIES).map(|_| Self { turns: MANY }.alone_ns(1)).fold(f64::INFINITY, f64::min);
        let wanted = (REGIONS * region_ns).clamp(RANGE_NS.0, RANGE_NS.1);
        Self { turns: ((wanted * MANY as f64 / quickest.max(1.0)) as u64).max(1) }
    }

    /// Computes.
    #[inline(never)]
    pub(super) fn run(self) {
        let mut x = black_box(self.turns);
        for _ in 0..self.turns {
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        }
        black_box(x);
    }

    /// Ns that this many serial parts take, one after the other.
    pub(super) fn alone_ns(self, times: u64) -> f64 {
        let clock = Clock::get();
        let start = clock.now();
        (0..times).for_each(|_| self.run());
        clock.ns(clock.now() - start)
    }

    /// Its number of turns, for code in another language.
    pub(super) fn turns(self) -> u64 {
        self.turns
    }

    /// A serial part of this many turns.
    pub(super) fn of_turns(turns: u64) -> Self {
        Self { turns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_longer_than_the_region_by_its_own_clock() {
        let (short, long) = (Serial::before(100.0), Serial::before(5_000.0));
        let ratio = long.turns as f64 / short.turns as f64;
        // 10 000 ns over 200 ns; the time of a turn may change between the two.
        assert!((10.0..250.0).contains(&ratio), "{short:?} {long:?}");
        assert!(Serial::before(f64::INFINITY).turns >= Serial::before(0.0).turns);
    }
}
