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

/// A serial part of additions and multiplications that wait for each other: as many as `turns`, and up to as many again.
///
/// Parts of one length would meet the others' looks at a flag always at the same moment, and a region's time would depend
/// on which one, by a factor of two and more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Serial {
    turns: u64,
}

impl Serial {
    /// One that is longer than a region that took `region_ns` back to back.
    pub(super) fn before(region_ns: f64) -> Self {
        // The part before the first region has `turns` turns and no more.
        let quickest = (0..SERIES).map(|_| Self { turns: MANY }.alone_ns(1)).fold(f64::INFINITY, f64::min);
        let wanted = (REGIONS * region_ns).clamp(RANGE_NS.0, RANGE_NS.1);
        Self { turns: ((wanted * MANY as f64 / quickest.max(1.0)) as u64).max(1) }
    }

    /// Computes before the region of this number.
    #[inline(never)]
    pub(super) fn run(self, region: u64) {
        let turns = self.before_region(region);
        let mut x = black_box(turns);
        for _ in 0..turns {
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        }
        black_box(x);
    }

    /// Its turns before a region: the golden ratio's multiples spread evenly however few they are.
    fn before_region(self, region: u64) -> u64 {
        let fraction = region.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.turns + ((u128::from(self.turns) * u128::from(fraction)) >> 32) as u64
    }

    /// Ns that the serial parts before this many regions take, one after the other.
    pub(super) fn alone_ns(self, regions: u64) -> f64 {
        let clock = Clock::get();
        let start = clock.now();
        (0..regions).for_each(|region| self.run(region));
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
    fn parts_differ_evenly() {
        let serial = Serial::of_turns(1000);
        let mut turns: Vec<_> = (0..100).map(|region| serial.before_region(region)).collect();
        turns.sort_unstable();
        assert_eq!(turns[0], 1000);
        assert!(
            turns[99] < 2000 && turns.windows(2).all(|pair| (1..=30).contains(&(pair[1] - pair[0]))),
            "{turns:?}"
        );
        assert_eq!(Serial::of_turns(0).before_region(7), 0);
    }

    #[test]
    fn it_is_longer_than_the_region_by_its_own_clock() {
        let (short, long) = (Serial::before(100.0), Serial::before(5_000.0));
        let ratio = long.turns as f64 / short.turns as f64;
        // 10 000 ns over 200 ns; the time of a turn may change between the two.
        assert!((10.0..250.0).contains(&ratio), "{short:?} {long:?}");
        assert!(Serial::before(f64::INFINITY).turns >= Serial::before(0.0).turns);
    }
}
