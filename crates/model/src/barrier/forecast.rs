//! Everything that the model predicts about a team's barriers, fork and join, beside what was measured.

use coho_profile::{Ns, Profile};
use serde::Serialize;

use super::{
    Comparison, Fit, Machine, Mapping, Prediction, Quickest, add_ranges, add_rivals, barrier_limit, compare,
    fork_join_limit, predict, predict_fork_join, predict_quick, quickest, team_sizes,
};
use crate::{Error, json};

/// Predictions for a team on a machine, by one or more mappings.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// The machine.
    pub machine: Machine,
    /// Threads of the team.
    pub threads: usize,
    /// The lower bounds, by mapping.
    pub limits: Vec<Limits>,
    /// Barriers by every algorithm.
    pub barriers: Vec<Prediction>,
    /// Fork and join by every algorithm.
    pub fork_joins: Vec<Prediction>,
    /// The quickest algorithm by size of team and mapping.
    pub quickest: Vec<Quickest>,
    /// What was measured on the same machine, or why it cannot be compared.
    pub compared: Result<Comparison, Error>,
    /// How the machine's latencies were fitted, where they were.
    pub fit: Option<Fit>,
}

/// The lower bounds of a team's times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// Which CPUs its ranks take.
    #[serde(serialize_with = "json::text")]
    pub mapping: Mapping,
    /// For a barrier.
    pub barrier: Ns,
    /// For fork and join.
    pub fork_join: Ns,
}

impl Forecast {
    /// Predicts for `threads` threads. `variants` are machines that agree equally well with what is known; they
    /// give the ranges.
    ///
    /// # Errors
    /// As for [`predict`].
    pub fn of(
        machine: Machine,
        variants: &[Machine],
        threads: usize,
        mappings: &[Mapping],
        profile: &Profile,
    ) -> Result<Self, Error> {
        let (mut limits, mut barriers, mut fork_joins) = (Vec::new(), Vec::new(), Vec::new());
        let mut winners = Vec::new();
        for &mapping in mappings {
            let of_all = predict(&machine, threads, mapping)?;
            let team = &machine.order(mapping)[..threads];
            limits.push(Limits {
                mapping,
                barrier: barrier_limit(&machine, team, Machine::one_way),
                fork_join: fork_join_limit(&machine, team, 0, Machine::one_way),
            });
            for size in team_sizes(threads) {
                winners.extend(if size == threads {
                    quickest(&machine, mapping, &of_all)
                } else {
                    quickest(&machine, mapping, &predict_quick(&machine, size, mapping)?)
                });
            }
            barriers.extend(of_all);
            fork_joins.extend(predict_fork_join(&machine, threads, mapping)?);
        }
        add_ranges(&mut barriers, variants);
        add_ranges(&mut fork_joins, variants);
        winners.iter_mut().for_each(|winner| add_rivals(winner, variants));
        let compared = compare(&machine, profile);
        Ok(Self { machine, threads, limits, barriers, fork_joins, quickest: winners, compared, fit: None })
    }
}
