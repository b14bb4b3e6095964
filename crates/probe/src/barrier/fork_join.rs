//! Fork and join of an empty parallel region: by the team's own way, or by two barriers.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use coho_sync::{Algorithm, Barrier, Team};

use super::burst::{Bursts, on_each};
use crate::clock::{Clock, Ticks};
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// Regions that are timed one by one, and those of a burst where all threads must know how many they are.
const REGIONS: u64 = 64;
/// Regions before a burst, which wake threads that sleep or wait by now with longer breaks between their looks.
const WARM_UP: u64 = 16;

/// How a region begins and ends.
pub(super) enum ForkJoin {
    /// A persistent team of threads: one flag forks, one each joins.
    Team(Box<Mutex<Team>>),
    /// All meet at a barrier at the region's begin and at its end.
    TwoBarriers(Box<Barrier>),
}

/// What bursts of regions took, in ns a region.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Taken {
    /// From the leader's start to its going on: regions timed together.
    pub(super) total: Vec<f64>,
    /// To the last member's begin: regions timed one by one, which adds a reading of the clock to each part.
    pub(super) fork: Vec<f64>,
    /// From the last member's begin, as the region is empty, to the leader's going on.
    pub(super) join: Vec<f64>,
}

impl ForkJoin {
    /// For these CPUs: a team where `algorithm` is [`Algorithm::Auto`], otherwise two barriers.
    pub(super) fn new(algorithm: Algorithm, cpus: &[u32]) -> Result<Self, Error> {
        let failed = |error: coho_sync::Error| Error::other(error.to_string());
        Ok(match algorithm {
            Algorithm::Auto => Self::Team(Box::new(Mutex::new(
                Team::builder(cpus.len()).cpus(cpus).start().map_err(failed)?,
            ))),
            other => Self::TwoBarriers(Box::new(Barrier::new(other, cpus.len()).map_err(failed)?)),
        })
    }

    /// Bursts of empty regions.
    pub(super) fn bursts(&self, workers: &Workers, cpus: &[u32], bursts: Bursts) -> Result<Taken, Error> {
        let stamps = bursts.count * REGIONS as usize;
        let (led, begun) = match self {
            Self::Team(team) => {
                let begun: Vec<_> = cpus.iter().map(|_| Mutex::new(Vec::new())).collect();
                let job: Job<'_, Led> = Box::new(|| {
                    let mut team = team.lock().unwrap_or_else(PoisonError::into_inner);
                    team.run(|_| make_room(stamps));
                    // Neither region has anything of the leader's to read.
                    let mut region = |timed: bool| match timed {
                        false => team.run(|_| ()),
                        true => team.run(|_| stamp()),
                    };
                    let regions = bursts.fill(|regions| together(&mut region, regions));
                    let led = lead(&mut region, bursts.count, regions);
                    team.run(|member| {
                        let mut place = begun[member.rank()].lock().unwrap_or_else(PoisonError::into_inner);
                        *place = BEGUN.take();
                    });
                    led
                });
                let led = workers.run(vec![(cpus[0], job)]).remove(0)?.value;
                let taken_out =
                    begun.into_iter().map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
                (led, taken_out.collect())
            }
            Self::TwoBarriers(barrier) => {
                // All count regions alike, so that nobody needs to be told what is timed.
                let rank = |rank: usize| {
                    make_room(stamps);
                    let mut region = |timed: bool| {
                        barrier.wait(rank);
                        if timed {
                            stamp();
                        }
                        barrier.wait(rank);
                    };
                    (lead(&mut region, bursts.count, REGIONS), BEGUN.take())
                };
                let (mut led, begun): (Vec<_>, Vec<_>) = on_each(workers, cpus, &rank)?.into_iter().unzip();
                (led.swap_remove(0), begun)
            }
        };
        Ok(led.apart(&begun))
    }
}

thread_local! {
    /// When this thread has begun each region that was timed by itself: its own memory until all are timed. Were it a
    /// place that the leader reads meanwhile, the next stamp would wait for the line, and the region be timed with that.
    static BEGUN: RefCell<Vec<Ticks>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for so many stamps of this thread, touched before they are taken.
fn make_room(stamps: usize) {
    BEGUN.with_borrow_mut(|begun| {
        begun.clear();
        begun.resize(stamps, 0);
        begun.clear();
    });
}

/// This thread begins a region.
fn stamp() {
    let now = Clock::get().now();
    BEGUN.with_borrow_mut(|begun| begun.push(now));
}

/// What the leader has seen.
#[derive(Default)]
struct Led {
    /// Of regions timed together, in ns a region.
    total: Vec<f64>,
    /// From where to where each region took that was timed by itself.
    regions: Vec<(Ticks, Ticks)>,
}

/// Runs bursts of regions, by turns timed together and one by one.
fn lead(region: &mut dyn FnMut(bool), bursts: usize, regions: u64) -> Led {
    let clock = Clock::get();
    let mut led = Led { total: Vec::new(), regions: Vec::with_capacity(bursts * REGIONS as usize) };
    for _ in 0..bursts {
        led.total.push(together(region, regions) / regions as f64);
        for _ in 0..REGIONS {
            let start = clock.now();
            region(true);
            led.regions.push((start, clock.now()));
        }
    }
    led
}

impl Led {
    /// Tells fork from join by when each member has begun each region: the median of every burst.
    fn apart(self, begun: &[Vec<Ticks>]) -> Taken {
        let clock = Clock::get();
        let mut taken = Taken { total: self.total, ..Taken::default() };
        let last = |at: usize| begun.iter().filter_map(|member| member.get(at)).max().copied();
        let parts = self.regions.iter().enumerate().map(|(at, &(start, end))| {
            let last = last(at).unwrap_or(start);
            // CPUs' clocks may be some ns apart.
            [last.saturating_sub(start), end.saturating_sub(last)].map(|ticks| clock.ns(ticks))
        });
        for burst in parts.collect::<Vec<_>>().chunks(REGIONS as usize) {
            for (all, part) in [(&mut taken.fork, 0), (&mut taken.join, 1)] {
                let mut ns: Vec<_> = burst.iter().map(|parts| parts[part]).collect();
                ns.sort_by(f64::total_cmp);
                all.push(statistics::median(&ns));
            }
        }
        taken
    }
}

/// Ns that so many regions took, one after the other.
fn together(region: &mut dyn FnMut(bool), regions: u64) -> f64 {
    let clock = Clock::get();
    (0..WARM_UP).for_each(|_| region(false));
    let start = clock.now();
    (0..regions).for_each(|_| region(false));
    clock.ns(clock.now() - start)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coho_testing::{Capability, needs};

    use super::*;
    use crate::pin;

    #[test]
    fn parts_are_told_apart_by_the_last_to_begin() {
        let regions = vec![(1000, 1100), (2000, 2100)];
        let led = Led { total: vec![7.0], regions };
        let taken = led.apart(&[vec![1010, 2020], vec![1040, 2040], vec![1030, 2030]]);
        let clock = Clock::get();
        assert_eq!((taken.total, taken.fork), (vec![7.0], vec![clock.ns(40)]));
        assert_eq!(taken.join, [clock.ns(60)]);
    }

    #[test]
    fn every_burst_has_a_whole_and_its_parts() {
        needs!(Capability::TwoCpus);
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let workers = Workers::start(&cpus).unwrap();
        let short = Bursts { count: 5, length: Duration::from_micros(30) };
        for algorithm in [Algorithm::Auto, Algorithm::FbsOneLine] {
            let way = ForkJoin::new(algorithm, &cpus).unwrap();
            let taken = way.bursts(&workers, &cpus, short).unwrap();
            assert_eq!((taken.total.len(), taken.fork.len(), taken.join.len()), (5, 5, 5));
            assert!(taken.total.iter().all(|ns| ns.is_finite() && *ns > 0.0), "{algorithm}: {taken:?}");
            // Where the CPUs' clocks are some ns apart, a part may come out as nothing.
            let parts = [taken.fork.clone(), taken.join.clone()].concat();
            assert!(parts.iter().all(|ns| ns.is_finite() && *ns >= 0.0), "{algorithm}: {taken:?}");
            assert!(parts.iter().any(|ns| *ns > 0.0), "{algorithm}: {taken:?}");
        }
    }
}
