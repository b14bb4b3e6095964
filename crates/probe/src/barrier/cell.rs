//! A barrier, team or peer on some CPUs, and its figures from each pass.

use std::collections::BTreeSet;

use coho_profile::Estimate;
use coho_sync::{Algorithm, Barrier, Mapping};

use super::burst::{self, Bursts};
use super::fork_join::{ForkJoin, Taken};
use super::limit::{self, Ways};
use super::own_lines::own_lines;
use super::peers::{Local, OpenMp, Runtime};
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// How many barriers and teams of each kind there are, used by the passes in turn: the cache slice of their lines
/// changes their time.
pub(super) const INSTANCES: usize = 8;

/// Something to measure.
pub(super) enum Subject {
    Barrier(Algorithm, Vec<Barrier>),
    ForkJoin(Algorithm, Vec<ForkJoin>),
    Local(Local),
    /// A runtime's barrier and ours by the same threads, and its parallel region.
    OpenMp(usize, Vec<Barrier>),
}

/// A subject on some CPUs, and its figures so far.
pub(super) struct Cell {
    pub(super) subject: Subject,
    pub(super) mapping: Mapping,
    pub(super) cpus: Vec<u32>,
    pub(super) passes: Vec<Pass>,
    pub(super) lost: Option<String>,
}

/// The figures of a pass: first the times of barriers or the totals of fork and join.
#[derive(Default)]
pub(super) struct Pass {
    pub(super) number: usize,
    pub(super) times: Vec<f64>,
    pub(super) fork: Vec<f64>,
    pub(super) join: Vec<f64>,
    /// The times of our barrier by the same threads, beside an OpenMP runtime's, and of the runtime's regions.
    pub(super) ours: Vec<f64>,
    pub(super) regions: Vec<f64>,
    /// Two CPUs, and the one-way time between them on the lines of the barrier's flags.
    pub(super) own: Option<((u32, u32), f64)>,
}

impl Cell {
    pub(super) fn visit(
        &mut self,
        number: usize,
        workers: &Workers,
        runtimes: &[(Runtime, OpenMp)],
        bursts: Bursts,
        ways: &Ways,
    ) {
        if self.lost.is_some() {
            return;
        }
        let mut pass = Pass { number, ..Pass::default() };
        let alone = self.cpus.iter().collect::<BTreeSet<_>>().len() == self.cpus.len();
        let cpus = &self.cpus;
        let result = match &mut self.subject {
            Subject::Barrier(algorithm, barriers) => {
                let barrier = &mut barriers[number % INSTANCES];
                // Auto's time is only for comparison with the peers, and threads that share a CPU are far above any
                // limit.
                if alone && *algorithm != Algorithm::Auto {
                    let pair = limit::farthest(&ways.flags, cpus);
                    pass.own = pair.and_then(|pair| Some((pair, own_lines(workers, pair, barrier)?)));
                }
                let barrier = &*barrier;
                burst::bursts(workers, cpus, bursts, &|rank| move || barrier.wait(rank))
                    .map(|times| pass.times = times)
            }
            Subject::ForkJoin(_, teams) => {
                teams[number % teams.len()].bursts(workers, cpus, bursts).map(|taken| {
                    Taken { total: pass.times, fork: pass.fork, join: pass.join } = taken;
                })
            }
            Subject::Local(local) => local.bursts(workers, cpus, bursts).map(|times| pass.times = times),
            Subject::OpenMp(runtime, ours) => {
                let (_, runtime) = &runtimes[*runtime];
                let job: Job<'_, Result<_, Error>> = Box::new(|| {
                    runtime.pin(cpus)?;
                    let both = runtime.barriers(&ours[number % INSTANCES], bursts);
                    let regions = runtime.regions(cpus.len(), bursts);
                    runtime.end();
                    Ok((both, regions))
                });
                workers.run(vec![(cpus[0], job)]).remove(0).and_then(|done| done.value).map(
                    |([theirs, ours], regions)| {
                        (pass.times, pass.ours, pass.regions) = (theirs, ours, regions);
                    },
                )
            }
        };
        match result {
            Ok(()) => self.passes.push(pass),
            Err(error) => self.lost = Some(error.to_string()),
        }
    }

    pub(super) fn threads(&self) -> u32 {
        self.cpus.len() as u32
    }

    pub(super) fn estimate(&self, of: fn(&Pass) -> &Vec<f64>) -> Option<Estimate> {
        statistics::estimate(&self.passes.iter().map(|pass| of(pass).clone()).collect::<Vec<_>>())
    }

    /// The median over passes of the pass's median over its limit.
    pub(super) fn times_limit(&self, limit: impl Fn(&Pass) -> Option<f64>) -> Option<f64> {
        let ratio = |pass: &Pass| Some(median(&pass.times)? / limit(pass)?);
        median(&self.passes.iter().filter_map(ratio).collect::<Vec<_>>())
    }

    /// The limit on the own lines of a pass's barrier.
    pub(super) fn own_limit(&self, pass: &Pass, ways: &[Ways]) -> Option<f64> {
        limit::on_own_lines(&ways.get(pass.number)?.flags, &self.cpus, pass.own?)
    }

    pub(super) fn name(&self) -> String {
        let what = match &self.subject {
            Subject::Barrier(algorithm, _) => algorithm.to_string(),
            Subject::ForkJoin(algorithm, _) => format!("fork and join by {}", fork_join_name(*algorithm)),
            Subject::Local(local) => local.name().into(),
            Subject::OpenMp(runtime, _) => Runtime::ALL[*runtime].name.into(),
        };
        format!("{what}, {} threads, {}", self.threads(), self.mapping)
    }
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    statistics::median_of(values.to_vec())
}

/// `team` for the team's own fork and join; otherwise the barrier's name, with the layout if there is a choice.
pub(super) fn fork_join_name(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Auto => "team".into(),
        other => other.name(),
    }
}
