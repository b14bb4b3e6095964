//! A working set that is walked, then a call, then walked again: what the call has pushed out shows in the time.

use std::io;

use super::caches::Caches;
use super::subject::{Body, nothing};
use super::walk::{Ring, Sweep};
use crate::Error;
use crate::clock::{Clock, Ticks};

/// Most walks that bring a set in: replacement is not always of the least recently used, and a hyperthread of somebody
/// else takes lines away meanwhile.
const PRIMES: usize = 16;
/// A set is there when a walk takes at most so much longer than its lines' latency makes it: 4 % are some 15 of the
/// level-1 data cache's 500 to 800 lines.
const THERE: f64 = 1.04;
/// Walks that tell, before a visit, what the latency is; the CPU's clock is not always the same.
const TRIALS: usize = 12;
/// A set that is surely there, in bytes.
const SMALL: usize = 4096;
/// Attempts at most for each walk that is asked for.
const PATIENCE: usize = 10;
/// Fewest walks of which a mean is taken.
const FEWEST: usize = 5;
/// Share of the level-1 data cache that is primed for footprints: a full one hides what fits beside (seen: small calls
/// undershoot threefold).
const FOOTPRINT_SHARE: (usize, usize) = (7, 8);

/// What pushes a whole set out to the next level, by cache, and what tells the latency of the first.
pub(super) struct Sweeps {
    l1d: Sweep,
    l2: Sweep,
    small: Ring,
}

impl Sweeps {
    /// Four times each cache.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn new(caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let (l1d, l2) = (Sweep::new(4 * caches.l1d)?, Sweep::new(4 * caches.l2)?);
        Ok(Self { l1d, l2, small: Ring::new(SMALL, random)? })
    }

    /// The most ticks that a walk over so many lines takes if they all are in the level-1 data cache.
    fn quick(&self, lines: usize, clock: &Clock) -> Ticks {
        let quickest = |time: &dyn Fn() -> Ticks| (0..TRIALS).map(|_| time()).min().unwrap_or(0);
        let empty = quickest(&|| {
            let start = clock.now();
            clock.now() - start
        });
        let small = quickest(&|| self.small.time(clock));
        let a_line = small.saturating_sub(empty) as f64 / self.small.lines() as f64;
        (empty as f64 + THERE * a_line * lines as f64) as Ticks
    }
}

/// Where a set's lines are as long as nobody disturbs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    L1,
    L2,
    /// Further away: what a miss costs is not asked there.
    Beyond,
}

/// A working set.
pub(super) struct Stage {
    ring: Ring,
    level: Level,
    /// Whether all else is swept out of the level-1 data cache before the set is brought in.
    swept: bool,
    primed: u64,
    disturbed: u64,
}

impl Stage {
    /// A set of so many bytes whose damage is of interest.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn damage(bytes: usize, caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let level = match bytes {
            _ if bytes <= caches.l1d => Level::L1,
            _ if bytes <= caches.l2 => Level::L2,
            _ => Level::Beyond,
        };
        Ok(Self { ring: Ring::new(bytes, random)?, level, swept: false, primed: 0, disturbed: 0 })
    }

    /// The set by which footprints are found: the call's own lines are in the level-2 cache when it begins.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn footprint(caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let bytes = caches.l1d / FOOTPRINT_SHARE.1 * FOOTPRINT_SHARE.0;
        Ok(Self { ring: Ring::new(bytes, random)?, level: Level::L1, swept: true, primed: 0, disturbed: 0 })
    }

    /// Lines of the set.
    pub(super) fn lines(&self) -> usize {
        self.ring.lines()
    }

    /// Extra time of the walk after one call, in ns: the difference of two means over so many walks each, taken in
    /// turn, with and without the call. `NaN` where the set could hardly ever be kept in its cache.
    ///
    /// # Errors
    /// If the call fails.
    pub(super) fn excess(
        &mut self,
        body: &mut dyn Body,
        repeats: usize,
        sweeps: &Sweeps,
        clock: &Clock,
    ) -> io::Result<f64> {
        let mut none = nothing();
        let quick = sweeps.quick(self.lines(), clock);
        let (mut with, mut without) = (Vec::with_capacity(repeats), Vec::with_capacity(repeats));
        for _ in 0..PATIENCE * repeats {
            if with.len().min(without.len()) >= repeats {
                break;
            }
            with.extend(self.walk_after(body, sweeps, clock, quick)?);
            without.extend(self.walk_after(&mut *none, sweeps, clock, quick)?);
        }
        Ok(match with.len().min(without.len()) {
            ..FEWEST => f64::NAN,
            _ => undisturbed_mean(&mut with) - undisturbed_mean(&mut without),
        })
    }

    /// Time of a walk, in ns, after the body's call; `None` if the set was not there before it.
    fn walk_after(
        &mut self,
        body: &mut dyn Body,
        sweeps: &Sweeps,
        clock: &Clock,
        quick: Ticks,
    ) -> io::Result<Option<f64>> {
        body.within(1, |call| {
            let there = self.prime(sweeps, clock, quick);
            call();
            let ticks = self.ring.time(clock);
            there.then(|| clock.ns(ticks))
        })
    }

    /// Brings the set in, and tells whether it is there.
    fn prime(&mut self, sweeps: &Sweeps, clock: &Clock, quick: Ticks) -> bool {
        if self.swept {
            sweeps.l1d.walk();
        }
        self.ring.walk();
        self.primed += 1;
        // Lines of a larger set come and go, and their time varies by where they are.
        if self.level != Level::L1 || (0..PRIMES).any(|_| self.ring.time(clock) <= quick) {
            return true;
        }
        self.disturbed += 1;
        false
    }

    /// Share of the attempts in which the set could not be kept in its cache, 0 to 1.
    pub(super) fn disturbed_share(&self) -> f64 {
        self.disturbed as f64 / self.primed.max(1) as f64
    }

    /// What a line costs more that has been pushed out to the next level, in ns, from so many walks each way; `None`
    /// where the next level would be memory.
    pub(super) fn penalty(&mut self, repeats: usize, sweeps: &Sweeps, clock: &Clock) -> Option<f64> {
        let sweep = match self.level {
            Level::L1 => &sweeps.l1d,
            Level::L2 => &sweeps.l2,
            Level::Beyond => return None,
        };
        let quick = sweeps.quick(self.lines(), clock);
        let (mut near, mut far) = (Vec::with_capacity(repeats), Vec::with_capacity(repeats));
        for _ in 0..PATIENCE * repeats {
            if near.len() == repeats {
                break;
            }
            if self.prime(sweeps, clock, quick) {
                near.push(clock.ns(self.ring.time(clock)));
                sweep.walk();
                far.push(clock.ns(self.ring.time(clock)));
            }
        }
        if near.len() < FEWEST {
            return None;
        }
        let penalty = (undisturbed_mean(&mut far) - undisturbed_mean(&mut near)) / self.lines() as f64;
        Some(penalty)
    }
}

/// The mean of what lies between a tenth and four tenths: what disturbs a walk only adds to its time, a preempted one
/// counts nothing, and the clock's step is averaged out.
fn undisturbed_mean(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let chosen = &samples[samples.len() / 10..(4 * samples.len()).div_ceil(10)];
    chosen.iter().sum::<f64>() / chosen.len() as f64
}

/// The mean of the middle three fifths.
pub(super) fn trimmed_mean(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let off = samples.len() / 5;
    let middle = &samples[off..samples.len() - off];
    middle.iter().sum::<f64>() / middle.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_without_its_ends() {
        assert_eq!(trimmed_mean(&mut [9000.0, 1.0, 2.0, 3.0, -70.0]), 2.0);
        assert_eq!(trimmed_mean(&mut [4.0]), 4.0);
        assert!(trimmed_mean(&mut []).is_nan());
        assert_eq!(undisturbed_mean(&mut [9.0, 1.0, 3.0, 2.0, 800.0]), 1.5);
        assert_eq!(undisturbed_mean(&mut [7.0]), 7.0);
    }
}
