//! Whether lines of their own for what a program allocates somewhere save it time: it runs with and without.

use coho_probe::statistics;
use coho_profile::{ShareFix, ShareLine};
use coho_recording::PAD;

use super::lines::Found;
use super::measuring::{go_on, shares};
use super::once::{Run, once};
use crate::child::{Job, Signals};
use crate::plan::{Error, Listener};
use crate::trial::{self, rounds_while};

/// Lines whose fixes are tried.
const MOST: usize = 3;
/// A line that is known to cost less is not worth the rounds.
const LEAST_COST: f64 = 0.01;
/// What the runs are called.
const PADDED: &str = "all CPUs with padding";

/// How fixes are tried.
pub(super) struct Trying<'a> {
    pub(super) job: &'a Job,
    pub(super) rounds: trial::Options,
    /// As many rounds at most, while what a fix saves is known only roughly.
    pub(super) most_rounds: u32,
}

impl Trying<'_> {
    /// The lines, with what their fixes save where the preloaded library can try them.
    pub(super) fn proved(
        &self,
        found: Vec<Found>,
        signals: &Signals,
        listener: &mut dyn Listener,
    ) -> Result<Vec<ShareLine>, Error> {
        let is_worth = |found: &&Found| {
            let cost = found.line.cost_share.as_ref();
            !found.sites.is_empty()
                && found.line.fix.is_some()
                && cost.is_none_or(|cost| cost.high >= LEAST_COST)
        };
        let mut tried: Vec<String> = Vec::new();
        for one in found.iter().filter(is_worth) {
            let sites = Vec::from_iter(one.sites.iter().map(String::as_str)).join(",");
            if !tried.contains(&sites) && tried.len() < MOST {
                tried.push(sites);
            }
        }
        let savings = if tried.is_empty() { Vec::new() } else { self.savings(&tried, signals, listener)? };
        let lines = found.into_iter().map(|one| {
            let sites = Vec::from_iter(one.sites).join(",");
            let saves = tried.iter().position(|tried| *tried == sites).and_then(|at| savings.get(at));
            let saves = saves.and_then(|values| statistics::estimate(std::slice::from_ref(values)));
            let mut line = one.line;
            if let (Some(fix), Some(saves)) = (&mut line.fix, saves.filter(|saves| saves.has_interval())) {
                *fix = ShareFix { saves: Some(saves), proved: true, ..fix.clone() };
            }
            line
        });
        Ok(lines.collect())
    }

    /// What padding saves of the CPU time, round by round, for each list of places.
    fn savings(
        &self,
        tried: &[String],
        signals: &Signals,
        listener: &mut dyn Listener,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut random = fastrand::Rng::with_seed(self.rounds.seed);
        let mut progress = listener.progress();
        let visit = |thing: usize| {
            let mut job = self.job.clone();
            let padded = thing.checked_sub(1).map(|at| (PAD.into(), tried[at].clone().into()));
            job.environment.extend(padded);
            Ok::<_, Error>(once(&job, PADDED, None, signals)?)
        };
        let takes_more = |done: &[Vec<Run>]| go_on(done[0].len(), self.most_rounds, saved(done));
        let (done, _) =
            rounds_while(1 + tried.len(), &self.rounds, &mut random, &mut progress, visit, takes_more)?;
        Ok(saved(&done).collect())
    }
}

/// What padding saves of the CPU time, round by round, for each list of places; the first runs are those without.
fn saved(done: &[Vec<Run>]) -> impl Iterator<Item = Vec<f64>> {
    let (plain, padded) = done.split_first().expect("a thing at least");
    padded.iter().map(|runs| shares(runs, plain).collect())
}
