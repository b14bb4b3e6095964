//! The same work on one machine under several views of it.

use fastrand::Rng;
use serde::Serialize;

use super::costs::Costs;
use super::engine::simulate;
use super::machine::Machine;
use super::state::Stats;
use super::view::View;
use super::workload::Workload;
use coho_profile::unixbench::{self, Pass};

/// What a workload does under one view.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The workload.
    pub workload: Workload,
    /// The view's name.
    pub view: String,
    /// Pieces of work per second, run by run; costs and lengths of a run are the same under every view.
    pub per_s: Vec<f64>,
    /// What happened in all runs.
    pub stats: Stats,
}

/// The range of the values of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The middle one.
    pub median: f64,
    /// 2.5 % lie below.
    pub low: f64,
    /// 2.5 % lie above.
    pub high: f64,
}

/// The direction of a change, by its ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    /// Quicker in (nearly) every run.
    Up,
    /// Slower.
    Down,
    /// Changed by less than 1 % in every run.
    None,
    /// Runs disagree: it depends on costs that are not known.
    Unsure,
}

/// Changes smaller than this share count as none.
const NONE: f64 = 0.01;

impl Range {
    /// The range of values in any order; `None` if there are none.
    pub fn of(values: Vec<f64>) -> Option<Self> {
        Self::without(0.025, values)
    }

    /// The range in which 90 % of the values lie.
    pub(super) fn ninety_percent(values: Vec<f64>) -> Option<Self> {
        Self::without(0.05, values)
    }

    /// The range without this share of the values at each end.
    fn without(share: f64, mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let out = (share * values.len() as f64) as usize;
        Some(Self { median: values[last / 2], low: values[out], high: values[last - out] })
    }

    /// The direction of a ratio.
    pub fn sign(&self) -> Sign {
        match () {
            () if self.low >= 1.0 - NONE && self.high <= 1.0 + NONE => Sign::None,
            () if self.low > 1.0 => Sign::Up,
            () if self.high < 1.0 => Sign::Down,
            () => Sign::Unsure,
        }
    }
}

impl Prediction {
    /// Pieces of work per second.
    pub fn rate(&self) -> Option<Range> {
        Range::of(self.per_s.clone())
    }

    /// The rate over another view's, run by run.
    pub fn over(&self, base: &Self) -> Option<Range> {
        Range::of(self.per_s.iter().zip(&base.per_s).map(|(mine, base)| mine / base).collect())
    }
}

/// Runs a workload under each view `runs` times, each time with its own costs from their ranges and its own random
/// choices. A run's rate is computed from passes by UnixBench's rule, which drops the worst third; a run that
/// finishes nothing is left out. Equal seeds give equal predictions.
pub fn predict(
    machine: &Machine,
    views: &[View],
    workload: Workload,
    costs: &Costs,
    runs: u32,
    seed: u64,
) -> Vec<Prediction> {
    let programs = workload.programs();
    let (passes, course) = workload.course();
    let mut predictions: Vec<Prediction> = views
        .iter()
        .map(|view| Prediction {
            workload,
            view: view.name.clone(),
            per_s: Vec::new(),
            stats: Stats::default(),
        })
        .collect();
    for run in 0..runs {
        let mut rng = Rng::with_seed(seed.wrapping_add(u64::from(run) << 32));
        let costs = costs.drawn(&mut rng);
        let seeds: Vec<u64> = (0..passes).map(|_| rng.u64(..)).collect();
        let rates: Vec<Option<f64>> = views
            .iter()
            .zip(&mut predictions)
            .map(|(view, prediction)| {
                let pass = |&seed: &u64| {
                    let stats = simulate(machine, &view.tree, &programs, &costs, course, seed);
                    prediction.stats.add(&stats);
                    Pass { count: stats.work as f64, time_s: stats.work_ns as f64 * 1e-9 }
                };
                unixbench::result(&seeds.iter().map(pass).collect::<Vec<_>>(), Some(1.0))
            })
            .collect();
        // A ratio compares equal runs.
        if let Some(rates) = rates.into_iter().collect::<Option<Vec<f64>>>() {
            predictions.iter_mut().zip(rates).for_each(|(prediction, rate)| prediction.per_s.push(rate));
        }
    }
    predictions
}
