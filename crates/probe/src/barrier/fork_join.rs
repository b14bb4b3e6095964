//! Fork and join of an empty parallel region: by the team's own way, or by two barriers.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use coho_sync::{Algorithm, Barrier, Team};

use super::burst::{Bursts, on_each};
use crate::clock::Clock;
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
    /// To the last member's begin: regions timed one by one, a clock reading included.
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
        let begun: Vec<_> = cpus.iter().map(|_| Line(AtomicU64::new(0))).collect();
        match self {
            Self::Team(team) => {
                let job: Job<'_, Taken> = Box::new(|| {
                    let mut team = team.lock().unwrap_or_else(PoisonError::into_inner);
                    // An empty region has nothing of the leader's to read.
                    let mut region = |timed: bool| match timed {
                        false => team.run(|_| ()),
                        true => team.run(|member| begun[member.rank()].stamp()),
                    };
                    let regions = bursts.fill(|regions| together(&mut region, regions));
                    lead(&mut region, &begun, bursts.count, regions)
                });
                workers.run(vec![(cpus[0], job)]).remove(0).map(|done| done.value)
            }
            Self::TwoBarriers(barrier) => {
                // All count regions alike, so that nobody needs to be told what is timed.
                let rank = |rank: usize| {
                    let mut region = |timed: bool| {
                        barrier.wait(rank);
                        if timed {
                            begun[rank].stamp();
                        }
                        barrier.wait(rank);
                    };
                    lead(&mut region, &begun, bursts.count, REGIONS)
                };
                on_each(workers, cpus, &rank).map(|mut of_ranks| of_ranks.swap_remove(0))
            }
        }
    }
}

/// Runs bursts of regions, by turns timed together and one by one.
fn lead(region: &mut dyn FnMut(bool), begun: &[Line], bursts: usize, regions: u64) -> Taken {
    let clock = Clock::get();
    let mut taken = Taken::default();
    for _ in 0..bursts {
        taken.total.push(together(region, regions) / regions as f64);
        let (mut forks, mut joins) = (Vec::new(), Vec::new());
        for _ in 0..REGIONS {
            let start = clock.now();
            region(true);
            let end = clock.now();
            let last = begun.iter().map(|line| line.0.load(Relaxed)).max().unwrap_or(start);
            // CPUs' clocks may be some ns apart.
            forks.push(clock.ns(last.saturating_sub(start)));
            joins.push(clock.ns(end.saturating_sub(last)));
        }
        for (all, of_burst) in [(&mut taken.fork, &mut forks), (&mut taken.join, &mut joins)] {
            of_burst.sort_by(f64::total_cmp);
            all.push(statistics::median(of_burst));
        }
    }
    taken
}

/// Ns that so many regions took, one after the other.
fn together(region: &mut dyn FnMut(bool), regions: u64) -> f64 {
    let clock = Clock::get();
    (0..WARM_UP).for_each(|_| region(false));
    let start = clock.now();
    (0..regions).for_each(|_| region(false));
    clock.ns(clock.now() - start)
}

/// When a member began, on a line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

impl Line {
    fn stamp(&self) {
        self.0.store(Clock::get().now(), Relaxed);
    }
}
