//! A working set that is walked before and after a call: the time shows what the call has evicted.

use super::caches::Caches;
use super::pmu::{Count, Tried, difference};
use super::subject::{Body, nothing};
use super::walk::{Ring, Sweep};
use crate::Error;
use crate::clock::{Clock, Ticks};

/// The most walks to bring a set in: replacement is not always least-recently-used, and another hyper-thread may take
/// lines away meanwhile.
const PRIMES: usize = 32;
/// A set counts as cached if a walk takes at most this many times what its lines' latency predicts: 4 % are some 15 of
/// the level-1 data cache's 500 to 800 lines.
const THERE: f64 = 1.04;
/// Walks before a visit that measure the latency, as the CPU's clock is not always the same.
const TRIALS: usize = 12;
/// A set that is certainly cached, in bytes, and how often it is walked for its latency: as the clock may have steps of
/// 10 ns, one walk would give a line's latency only to a tenth, which is more than the tolerance.
const SMALL: usize = 4096;
const LAPS: usize = 32;
/// The share of the attempts in which the footprint's set must stay in its cache, and the number of attempts.
const STAYS: f64 = 0.5;
const ATTEMPTS: usize = 24;
/// The most attempts per requested walk.
const PATIENCE: usize = 3;
/// The fewest walks for a mean.
const FEWEST: usize = 5;
/// The clock, the sweeps that push a whole set out to the next level, and the set that gives the latency of the first.
pub(super) struct Tools {
    pub(super) clock: Clock,
    l1d: Sweep,
    l2: Sweep,
    small: Ring,
}

impl Tools {
    /// Sweeps of four times each cache.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn new(caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let (l1d, l2) = (Sweep::new(4 * caches.l1d)?, Sweep::new(4 * caches.l2)?);
        Ok(Self { clock: Clock::get(), l1d, l2, small: Ring::new(SMALL, random)? })
    }

    /// The most ticks that a walk over this many lines takes if all are in the level-1 data cache.
    fn quick(&self, lines: usize) -> Ticks {
        let quickest = |time: &dyn Fn() -> Ticks| (0..TRIALS).map(|_| time()).min().unwrap_or(0);
        let empty = quickest(&|| {
            let start = self.clock.now();
            self.clock.now() - start
        });
        let small = quickest(&|| self.small.time_laps(&self.clock, LAPS));
        let a_line = small.saturating_sub(empty) as f64 / (LAPS * self.small.lines()) as f64;
        (empty as f64 + THERE * a_line * lines as f64) as Ticks
    }
}

/// Where a set's lines are while they are not disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    L1,
    L2,
    /// Further away, where the cost of a miss is not measured.
    Beyond,
}

/// A working set.
pub(super) struct Stage {
    ring: Ring,
    level: Level,
    /// Whether it fills all ways of the level-1 data cache, so that it cannot be kept there.
    fills: bool,
    /// Whether everything else is swept out of the level-1 data cache before the set is brought in.
    swept: bool,
    primed: u64,
    disturbed: u64,
}

impl Stage {
    /// A set of this many bytes whose damage is measured.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn damage(bytes: usize, caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let level = match bytes {
            _ if bytes <= caches.l1d => Level::L1,
            _ if bytes <= caches.l2 => Level::L2,
            _ => Level::Beyond,
        };
        let fills = level == Level::L1 && bytes > but_for(1, caches);
        Ok(Self { ring: Ring::new(bytes, random)?, level, fills, swept: false, primed: 0, disturbed: 0 })
    }

    /// The set with which footprints are found: it fills all ways of the level-1 data cache except one. If it does not
    /// stay there because something else takes lines away, it leaves as many more ways free as it takes to stay, at
    /// most half of them. The call's own lines are in the level-2 cache when it begins.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn footprint(
        caches: Caches,
        tools: &Tools,
        random: &mut fastrand::Rng,
    ) -> Result<Self, Error> {
        // A full cache cannot be kept: the walks' own few lines push others out, and each of those another.
        let mut first = None;
        for left in 1..=caches.l1d_ways / 2 {
            let ring = Ring::new(but_for(left, caches), random)?;
            let mut set = Self { ring, level: Level::L1, fills: false, swept: true, primed: 0, disturbed: 0 };
            let quick = tools.quick(set.lines());
            (0..ATTEMPTS).for_each(|_| {
                set.prime(tools, quick);
            });
            if set.disturbed_share() <= 1.0 - STAYS {
                return Ok(Self { primed: 0, disturbed: 0, ..set });
            }
            first.get_or_insert(set);
        }
        // Nothing helps; `disturbed_share` shows how rarely it stayed.
        first
            .ok_or_else(|| Error::not_available("a level-1 data cache of one way cannot be measured by time"))
    }

    /// Lines of the set.
    pub(super) fn lines(&self) -> usize {
        self.ring.lines()
    }

    /// What a call costs the walk after it: the difference of two means over this many walks each, taken alternately
    /// with and without the call. `misses`, if given, counts the events for lines that are no longer cached.
    ///
    /// # Errors
    /// If the call fails; inside, if the counter does.
    pub(super) fn excess(
        &mut self,
        body: &mut dyn Body,
        repeats: usize,
        tools: &Tools,
        mut misses: Option<&mut dyn Count>,
    ) -> Tried<Excess> {
        let mut none = nothing();
        let quick = tools.quick(self.lines());
        let (mut with, mut without) = (Walks::default(), Walks::default());
        for _ in 0..PATIENCE * repeats {
            if with.ns.len().min(without.ns.len()) >= repeats {
                break;
            }
            for (walks, body) in [(&mut with, &mut *body), (&mut without, &mut *none)] {
                if let Err(why) = self.walk_after(body, tools, quick, &mut misses, walks)? {
                    return Ok(Err(why));
                }
            }
        }
        Ok(Ok(Excess {
            ns: undisturbed_mean(&mut with.ns) - undisturbed_mean(&mut without.ns),
            misses: undisturbed_mean(&mut with.misses) - undisturbed_mean(&mut without.misses),
        }))
    }

    /// Walks after the body's call, and records it if the set was cached before.
    fn walk_after(
        &mut self,
        body: &mut dyn Body,
        tools: &Tools,
        quick: Ticks,
        misses: &mut Option<&mut dyn Count>,
        walks: &mut Walks,
    ) -> Tried<()> {
        body.within(1, |call| {
            let there = self.prime(tools, quick);
            call();
            let mut ticks = 0;
            let mut walk = || ticks = self.probe(&tools.clock);
            let counted = match misses {
                Some(count) => Some(difference(&mut **count, &mut walk)?),
                None => {
                    walk();
                    None
                }
            };
            if there {
                walks.ns.push(tools.clock.ns(ticks));
                walks.misses.extend(counted);
            }
            Ok(())
        })
    }

    /// Lines that a call fetches into the level-1 data cache when all of its own are in the next, by a counter of that
    /// cache's misses: the mean over this many calls, minus that of as many tries without one.
    ///
    /// # Errors
    /// If the call fails; inside, if the counter does.
    pub(super) fn fetched(
        &mut self,
        body: &mut dyn Body,
        repeats: usize,
        tools: &Tools,
        count: &mut dyn Count,
    ) -> Tried<f64> {
        let mut none = nothing();
        let quick = tools.quick(self.lines());
        let (mut with, mut without) = (Vec::with_capacity(repeats), Vec::with_capacity(repeats));
        for _ in 0..repeats {
            for (fetched, body) in [(&mut with, &mut *body), (&mut without, &mut *none)] {
                let one = body.within(1, |call| {
                    self.prime(tools, quick);
                    difference(count, call)
                })?;
                match one {
                    Ok(lines) => fetched.push(lines),
                    Err(why) => return Ok(Err(why)),
                }
            }
        }
        Ok(Ok(trimmed_mean(&mut with) - trimmed_mean(&mut without)))
    }

    /// How long the walk after a call takes. A program's loop comes around; a footprint is found on the way back, where
    /// the lines that are missed are about those that the call pushed out.
    fn probe(&self, clock: &Clock) -> Ticks {
        if self.swept { self.ring.time_back(clock) } else { self.ring.time(clock) }
    }

    /// Brings the set into its cache; returns whether it is there.
    fn prime(&mut self, tools: &Tools, quick: Ticks) -> bool {
        if self.swept {
            tools.l1d.walk();
        }
        self.ring.walk();
        self.primed += 1;
        // Lines of a larger set come and go, and their time varies by where they are.
        if self.level != Level::L1 || self.fills || (0..PRIMES).any(|_| self.ring.time(&tools.clock) <= quick)
        {
            return true;
        }
        self.disturbed += 1;
        false
    }

    /// Share of the attempts in which the set could not be kept in its cache, 0 to 1.
    pub(super) fn disturbed_share(&self) -> f64 {
        self.disturbed as f64 / self.primed.max(1) as f64
    }

    /// The extra cost of a line that was pushed out to the next level, in ns, from this many walks each way; `None` if
    /// the next level would be memory, or the set could hardly ever be kept in its cache.
    pub(super) fn penalty(&mut self, repeats: usize, tools: &Tools) -> Option<f64> {
        if self.fills {
            return None;
        }
        let sweep = match self.level {
            Level::L1 => &tools.l1d,
            Level::L2 => &tools.l2,
            Level::Beyond => return None,
        };
        let quick = tools.quick(self.lines());
        let (mut near, mut far) = (Vec::with_capacity(repeats), Vec::with_capacity(repeats));
        for _ in 0..PATIENCE * PATIENCE * repeats {
            if near.len() == repeats {
                break;
            }
            if self.prime(tools, quick) {
                near.push(tools.clock.ns(self.probe(&tools.clock)));
                sweep.walk();
                far.push(tools.clock.ns(self.probe(&tools.clock)));
            }
        }
        let penalty = (undisturbed_mean(&mut far) - undisturbed_mean(&mut near)) / self.lines() as f64;
        penalty.is_finite().then_some(penalty)
    }

    /// Whether the set fits the level-1 data cache with room to spare.
    pub(super) fn is_small(&self) -> bool {
        self.level == Level::L1 && !self.fills
    }

    /// Whether it takes all ways of the level-1 data cache. Each line that a call brings in then pushes out a line of
    /// the set, and walking that line again pushes out the next one of the same ways. So the walk shows the extra time,
    /// but not the number of lines.
    pub(super) fn fills(&self) -> bool {
        self.fills
    }
}

/// The size of the level-1 data cache without this many of its ways, in bytes.
fn but_for(ways: usize, caches: Caches) -> usize {
    caches.l1d / caches.l1d_ways * (caches.l1d_ways - ways)
}

/// What a call costs the walk of a set; `NaN` if the set could hardly ever be kept in its cache, or nothing was
/// counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excess {
    /// Extra time, in ns.
    pub(super) ns: f64,
    /// Extra events.
    pub(super) misses: f64,
}

/// Times and counts of walks.
#[derive(Debug, Default)]
struct Walks {
    ns: Vec<f64>,
    misses: Vec<f64>,
}

/// The mean of the samples between the quantiles 0.1 and 0.4: disturbances only add to a walk's time, preempted walks
/// are left out, and the clock's step is averaged out. `NaN` for too few samples.
fn undisturbed_mean(samples: &mut [f64]) -> f64 {
    if samples.len() < FEWEST {
        return f64::NAN;
    }
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
        assert!(undisturbed_mean(&mut [7.0; FEWEST - 1]).is_nan());
    }

    /// A cache with least-recently-used replacement in each set; its contents, by set.
    struct Lru {
        ways: usize,
        sets: Vec<Vec<usize>>,
    }

    impl Lru {
        /// 64 sets, as all level-1 data caches of 4 KiB a way have.
        fn new(ways: usize) -> Self {
            Self { ways, sets: vec![Vec::new(); 64] }
        }

        /// Whether the line was missed.
        fn load(&mut self, line: usize) -> bool {
            let set = &mut self.sets[line % 64];
            let found = set.iter().position(|other| *other == line);
            if let Some(at) = found {
                set.remove(at);
            } else if set.len() == self.ways {
                set.remove(0);
            }
            set.push(line);
            found.is_none()
        }

        /// Lines missed.
        fn walk(&mut self, lines: impl Iterator<Item = usize>) -> usize {
            lines.filter(|line| self.load(*line)).count()
        }
    }

    /// Why a set that fills a cache does not show the number of lines: on 48 KiB of 12 ways the 22 lines of a getpid
    /// make 264 misses.
    #[test]
    fn a_full_set_misses_all_ways_for_each_line_and_one_with_room_none() {
        for ways in [8, 12] {
            let misses = |kept: usize| {
                let mut cache = Lru::new(ways);
                let lines = kept * 64;
                cache.walk(0..lines);
                assert_eq!(cache.walk(0..lines), 0, "it stays");
                cache.walk((0..22).map(|line| 1_000_000 * 64 + 64 + line));
                cache.walk(0..lines)
            };
            assert_eq!((misses(ways), misses(ways - 1)), (22 * ways, 0));
        }
    }

    #[test]
    fn the_sets_that_fill_the_cache_are_known() {
        let caches = Caches { l1d: 48 << 10, l1d_ways: 12, l1i: 32 << 10, l2: 2 << 20, last: 0 };
        let mut random = fastrand::Rng::with_seed(2);
        let mut fills = |kib: usize| Stage::damage(kib << 10, caches, &mut random).unwrap().fills();
        assert_eq!([24, 44, 46, 48, 64, 256].map(&mut fills), [false, false, true, true, false, false]);
    }
}
