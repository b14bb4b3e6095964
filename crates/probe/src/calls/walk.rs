//! Sets of lines that are walked: to bring them into a cache, to time how many are still there, or to sweep others
//! out.

use coho_platform::pages::Pages;

use super::arch;
use super::caches::LINE;
use crate::Error;
use crate::clock::{Clock, Ticks};

/// Sets are on huge pages if the system grants them, so that lines of page tables do not interfere.
const HUGE: usize = 2 << 20;
/// Bytes from the word that leads around a ring to the one that leads back.
const BACK: usize = size_of::<*const u8>();

/// Adjacent lines, each of which holds the addresses of two others: loads that cannot overlap, in an order that no
/// prefetcher predicts. The first word leads around, the second back.
pub(crate) struct Ring {
    pages: Pages,
    lines: usize,
}

impl Ring {
    /// A ring of this many bytes (whole lines), touched by the calling thread.
    ///
    /// # Errors
    /// If there is no room.
    pub(crate) fn new(bytes: usize, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let lines = (bytes / LINE).max(1);
        let pages = Pages::map(bytes.max(HUGE))?;
        let mut order: Vec<usize> = (0..lines).collect();
        random.shuffle(&mut order);
        for (at, &line) in order.iter().enumerate() {
            let next = order[(at + 1) % lines];
            // SAFETY: both lines are within the pages, which nobody else uses.
            unsafe {
                let word = |line: usize, word: usize| pages.start().add(line * LINE + word * BACK).as_ptr();
                word(line, 0).cast::<*mut u8>().write_volatile(word(next, 0));
                word(next, 1).cast::<*mut u8>().write_volatile(word(line, 1));
            }
        }
        Ok(Self { pages, lines })
    }

    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// Visits each line once, in the ring's order, beginning and ending at the first.
    #[inline]
    pub(crate) fn walk(&self) {
        // SAFETY: every line of the ring holds the address of another.
        unsafe { arch::follow(self.pages.start().as_ptr(), self.lines) };
    }

    /// How long a walk back takes. With nearly least-recently-used replacement, each line that is missed on the way
    /// around pushes out one that is still to come; on the way back it pushes out one that has been visited.
    #[inline]
    pub(super) fn time_back(&self, clock: &Clock) -> Ticks {
        let start = clock.now();
        // SAFETY: the second word of every line holds the address of another's.
        unsafe { arch::follow(self.pages.start().as_ptr().add(BACK), self.lines) };
        clock.now() - start
    }

    /// How long this many walks take, one after the other.
    pub(super) fn time_laps(&self, clock: &Clock, laps: usize) -> Ticks {
        let start = clock.now();
        // SAFETY: every line of the ring holds the address of another.
        unsafe { arch::follow(self.pages.start().as_ptr(), laps * self.lines) };
        clock.now() - start
    }

    /// How long it takes to follow this many links, beginning `skipped` lines after the start of the memory.
    pub(super) fn time_part(&self, clock: &Clock, skipped: usize, links: usize) -> Ticks {
        let start = clock.now();
        // SAFETY: the line is within the ring, and every line of the ring holds the address of another.
        unsafe { arch::follow(self.pages.start().as_ptr().add(skipped % self.lines * LINE), links) };
        clock.now() - start
    }

    /// How long a walk takes.
    #[inline]
    pub(super) fn time(&self, clock: &Clock) -> Ticks {
        let start = clock.now();
        self.walk();
        clock.now() - start
    }
}

/// Lines that are walked in the order of their addresses, only to push others out.
pub(super) struct Sweep {
    pages: Pages,
    lines: usize,
}

impl Sweep {
    /// This many bytes, touched by the calling thread.
    ///
    /// # Errors
    /// If there is no room.
    pub(super) fn new(bytes: usize) -> Result<Self, Error> {
        let pages = Pages::map(bytes.max(HUGE))?;
        pages.touch();
        Ok(Self { pages, lines: bytes / LINE })
    }

    #[inline]
    pub(super) fn walk(&self) {
        // SAFETY: the lines are within the pages.
        unsafe { arch::load(self.pages.start().as_ptr(), self.lines) };
    }

    /// Walks only this many bytes at its start.
    #[inline]
    pub(super) fn walk_part(&self, bytes: usize) {
        let lines = (bytes / LINE).min(self.lines);
        if lines > 0 {
            // SAFETY: as above; there is at least one.
            unsafe { arch::load(self.pages.start().as_ptr(), lines) };
        }
    }
}

/// Lines of which some are touched at random places, each at most once: a victim of known size.
pub(super) struct Field {
    pages: Pages,
    /// Their number is a power of two, with this exponent.
    bits: u32,
}

impl Field {
    /// At least this many bytes.
    ///
    /// # Errors
    /// If there is no room.
    pub(super) fn new(bytes: usize) -> Result<Self, Error> {
        let bits = (bytes / LINE).max(2).next_power_of_two().trailing_zeros();
        let pages = Pages::map((LINE << bits).max(HUGE))?;
        pages.touch();
        Ok(Self { pages, bits })
    }

    /// Loads this many lines, different ones for each `draw`.
    #[inline]
    pub(super) fn touch(&self, lines: usize, draw: u64) {
        for index in 0..lines.min(1 << self.bits) {
            let line = scatter(draw.wrapping_add(index as u64), self.bits);
            // SAFETY: `scatter` keeps below 2^bits.
            unsafe { arch::load(self.pages.start().as_ptr().add(line * LINE), 1) };
        }
    }
}

/// A bijection of the numbers below 2^bits that moves neighbours far apart.
#[inline]
fn scatter(number: u64, bits: u32) -> usize {
    let mask = (1u64 << bits) - 1;
    let fold = bits.div_ceil(2);
    let mut x = number & mask;
    // Odd factors and shifts to the right can be undone, so no two numbers collide.
    for factor in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = x.wrapping_mul(factor) & mask;
        x ^= x >> fold;
    }
    x as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_ring_visits_every_line_once() {
        for bytes in [LINE, 3 * LINE, 48 << 10] {
            let ring = Ring::new(bytes, &mut fastrand::Rng::with_seed(3)).unwrap();
            let start = ring.pages.start().as_ptr().cast_const();
            let mut seen = BTreeSet::new();
            let mut line = start;
            while seen.insert(line as usize) {
                // SAFETY: within the ring.
                line = unsafe { arch::follow(line, 1) };
            }
            assert_eq!((seen.len(), line), (bytes / LINE, start));
            // SAFETY: as above.
            assert_eq!(unsafe { arch::follow(start, ring.lines()) }, start);
            // SAFETY: as above; the second words make a ring of their own.
            unsafe {
                let next = arch::follow(start, 1);
                assert_eq!(arch::follow(next.add(BACK), 1), start.add(BACK));
                assert_eq!(arch::follow(start.add(BACK), ring.lines()), start.add(BACK));
            }
        }
    }

    #[test]
    fn scattered_lines_never_meet_and_spread_over_the_sets() {
        for bits in [1, 6, 12, 13, 14] {
            for draw in [0, 1, 12_345_678_901, u64::MAX - 3] {
                let all: BTreeSet<_> =
                    (0..1u64 << bits).map(|i| scatter(draw.wrapping_add(i), bits)).collect();
                assert_eq!(all.len(), 1 << bits);
                assert!(all.last().unwrap() < &(1 << bits));
            }
        }
        // 640 lines over 64 sets: 10 in each on average; at random their counts vary by about 3.
        let mut counts = [0f64; 64];
        (0..640).for_each(|i| counts[scatter(987_654 + i, 14) % 64] += 1.0);
        let variance = counts.iter().map(|count| (count - 10.0).powi(2)).sum::<f64>() / 64.0;
        assert!((3.0..30.0).contains(&variance), "variance {variance}");
    }

    #[test]
    fn a_ring_that_was_swept_out_takes_longer() {
        let clock = Clock::get();
        let ring = Ring::new(16 << 10, &mut fastrand::Rng::with_seed(4)).unwrap();
        let sweep = Sweep::new(64 << 20).unwrap();
        let quickest = |before: &dyn Fn()| {
            (0..20)
                .map(|_| {
                    ring.walk();
                    before();
                    ring.time(&clock)
                })
                .min()
                .unwrap()
        };
        let (near, far) = (quickest(&|| ()), quickest(&|| sweep.walk()));
        assert!(far > near, "{near} against {far} ticks");
    }
}
