//! The options of a barrier.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

use coho_platform::{cgroup, pin};
#[cfg(feature = "topology")]
use coho_topology::Topology;

use super::auto::{Latencies, Shape, fastest};
use super::call::Rank;
use super::groups::{self, Groups, Layout, Tier};
#[cfg(feature = "topology")]
use super::levels;
use super::{Algorithm, Barrier, Central, Kind, OneLine, Pair, Rounds, SeparateLines, Tournament};
use super::{dissemination, hierarchical};
use crate::Error;
use crate::padded::Padded;
use crate::wait::{Bell, Courtesy, Crowding, Patience, WaitPolicy};
use crate::watchdog::{Late, Watchdog};

/// The most threads of a barrier or a team.
pub const MAX_THREADS: usize = 4096;

/// Builds a barrier.
#[must_use]
pub struct BarrierBuilder<'a> {
    threads: usize,
    algorithm: Algorithm,
    policy: WaitPolicy,
    cpus: Option<&'a [u32]>,
    layout: Layout,
    latencies: Option<Latencies<'a>>,
    measured: Option<&'a dyn Fn(Algorithm) -> Option<f64>>,
    watchdog: Option<Watchdog>,
    crowding: Option<Crowding>,
    movable: bool,
}

impl BarrierBuilder<'static> {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            algorithm: Algorithm::Auto,
            policy: WaitPolicy::default(),
            cpus: None,
            layout: Layout::UNKNOWN,
            latencies: None,
            measured: None,
            watchdog: None,
            crowding: None,
            movable: false,
        }
    }
}

impl<'a> BarrierBuilder<'a> {
    /// How the threads learn that all have arrived; [`Algorithm::Auto`] by default.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// How threads wait.
    pub fn policy(mut self, policy: WaitPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the CPU of each rank. Threads that share a CPU give way to each other instead of spinning.
    pub fn cpus(mut self, cpus: &'a [u32]) -> Self {
        self.cpus = Some(cpus);
        self.layout = Layout::UNKNOWN;
        self
    }

    /// Sets the CPU of each rank. Some algorithms follow what these CPUs share in the topology.
    #[cfg(feature = "topology")]
    pub fn places(mut self, topology: &Topology, cpus: &'a [u32]) -> Self {
        self = self.cpus(cpus);
        self.layout = levels::layout(topology, cpus);
        self
    }

    /// Times between the ranks, by which [`Algorithm::Auto`] chooses.
    pub fn latencies(mut self, latencies: Latencies<'a>) -> Self {
        self.latencies = Some(latencies);
        self
    }

    /// Measured times of a barrier in nanoseconds. If any are known, [`Algorithm::Auto`] chooses the algorithm with
    /// the smallest.
    pub fn measured(mut self, times_ns: &'a dyn Fn(Algorithm) -> Option<f64>) -> Self {
        self.measured = Some(times_ns);
        self
    }

    /// Calls `report` from a thread that has waited for `patience` at a barrier, once for each wait; the report names
    /// the ranks that have not arrived. A spinning thread looks at the clock every few microseconds; a sleeping one is
    /// woken for it.
    pub fn watchdog(mut self, patience: Duration, report: impl Fn(&Late) + Send + Sync + 'static) -> Self {
        self.watchdog = Some(Watchdog { patience, report: Box::new(report) });
        self
    }

    /// What keeps the threads from running at once, if that is known.
    pub(crate) fn crowding(mut self, crowding: Crowding) -> Self {
        self.crowding = Some(crowding);
        self
    }

    /// Whether threads may leave the CPUs of those that have woken them.
    pub(crate) fn movable(mut self, movable: bool) -> Self {
        self.movable = movable;
        self
    }

    /// Makes the barrier.
    ///
    /// # Errors
    /// [`Error::Size`] unless there are 1 to [`MAX_THREADS`] threads; [`Error::Argument`] for a radix or arity below
    /// 2, for CPUs or latencies of another number of threads, and for times below 0.
    pub fn build(self) -> Result<Barrier, Error> {
        let threads = self.threads;
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(Error::Size { asked: threads, most: MAX_THREADS });
        }
        if let Some(cpus) = self.cpus.filter(|cpus| cpus.len() != threads) {
            return Err(Error::Argument(format!("CPUs of {} threads for {threads}", cpus.len())));
        }
        if let Some(given) = self.latencies.filter(|given| given.one_way_ns.len() != threads * threads) {
            let wrong = format!("{} one-way times for {threads} threads squared", given.one_way_ns.len());
            return Err(Error::Argument(wrong));
        }
        if let Some(given) = &self.latencies {
            given.check()?;
        }
        let crowding = self.crowding.unwrap_or_else(|| crowding(threads, self.cpus, cgroup::cpu_quota()));
        let (algorithm, group) = match self.algorithm {
            // No thread gains by noticing arrivals early, and one wake-up serves all.
            Algorithm::Auto if crowding == Crowding::Threads => (Algorithm::Central, None),
            Algorithm::Auto => match self.measured.and_then(fastest) {
                Some(fastest) => (fastest, None),
                None => Shape { threads, layout: &self.layout, latencies: self.latencies }.choose(),
            },
            chosen => (chosen, None),
        };
        let levels: Vec<_> = self.layout.tiers.into_iter().map(|Tier { groups, .. }| groups).collect();
        let courtesy = Arc::new(Courtesy::default());
        let rank = |_| {
            Padded(Rank {
                left: AtomicU8::new(0),
                arrived: AtomicU8::new(0),
                bell: Bell::new(crowding),
                patience: Patience::new(&self.policy, crowding, (&courtesy).into()).movable(self.movable),
            })
        };
        Ok(Barrier {
            ranks: (0..threads).map(rank).collect(),
            kind: kind(algorithm, group, threads, &levels, crowding)?,
            algorithm,
            watchdog: self.watchdog,
        })
    }
}

/// `group` is the size of a grid's groups, if given.
fn kind(
    algorithm: Algorithm,
    group: Option<usize>,
    threads: usize,
    levels: &[Groups],
    crowding: Crowding,
) -> Result<Kind, Error> {
    let bell = Bell::new(crowding);
    let at_least_two = |what: &str, given: usize| match given {
        0 | 1 => Err(Error::Argument(format!("{what} of {given}; at least 2 is needed"))),
        // A value beyond the number of threads would change nothing.
        _ => Ok(given.min(threads.max(2))),
    };
    Ok(match algorithm {
        Algorithm::Auto | Algorithm::Fbs => Kind::SeparateLines(SeparateLines::new(threads, bell)),
        Algorithm::FbsOneLine if threads == 2 => Kind::Pair(Pair::new(bell)),
        Algorithm::FbsOneLine => Kind::OneLine(OneLine::new(threads, bell)),
        Algorithm::Lock => Kind::Lock(Central::new(threads, bell)),
        Algorithm::SpinLock => Kind::SpinLock(Central::new(threads, bell)),
        Algorithm::Central if crowding == Crowding::Threads => {
            Kind::Central(Central::new(threads, bell).led())
        }
        Algorithm::Central => Kind::Central(Central::new(threads, bell)),
        Algorithm::Dissemination { radix } => {
            Kind::Rounds(Rounds::new(dissemination::schedule(threads, at_least_two("a radix", radix)?)))
        }
        Algorithm::Tournament { arity } => {
            Kind::Tournament(Tournament::new(threads, at_least_two("an arity", arity)?))
        }
        Algorithm::Hierarchical if !levels.is_empty() => {
            Kind::Rounds(Rounds::new(hierarchical::schedule(levels, threads)))
        }
        Algorithm::Grid | Algorithm::Hierarchical => {
            let grid = groups::grid(levels, group, threads);
            Kind::Rounds(Rounds::new(hierarchical::schedule(&[grid], threads)))
        }
    })
}

/// What keeps these threads from running at once, if the control groups allow `quota` CPUs.
pub(crate) fn crowding(threads: usize, cpus: Option<&[u32]>, quota: Option<f64>) -> Crowding {
    let places = match cpus {
        // Threads pinned to the same CPU hinder each other however many CPUs there are.
        Some(cpus) => cpus.iter().collect::<std::collections::HashSet<_>>().len(),
        None => pin::of_process().map_or(threads, |cpus| cpus.len()),
    };
    Crowding::of(threads, places, quota)
}
