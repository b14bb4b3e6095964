//! Predictions for the barriers in a profile, as far as they take next to no time.

use coho_profile::Profile;

use super::{
    Comparison, ExtraLine, Machine, Mapping, Quickest, Source, compare, predict_quick, quickest, team_sizes,
};
use crate::Error;

/// The largest machine, in CPUs, that is simulated unasked, and the largest team, in threads.
const MOST_SIMULATED: usize = 64;
/// The largest machine, in CPUs, whose ranks are listed one by one.
const MOST_RANKED: usize = 128;

/// Predictions beside a profile's own figures.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Each measured time beside its prediction, or why they cannot be compared.
    pub comparison: Result<Comparison, Error>,
    /// The quickest barrier for teams of every size, by mapping.
    pub winners: Vec<Quickest>,
    /// Where the one-way times come from.
    pub latency: Source,
    /// What an extra line costs.
    pub extra_line: ExtraLine,
}

/// Why a profile's barriers are not predicted where nobody asked for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// The profile describes no machine that they could be predicted for.
    #[error(transparent)]
    Machine(#[from] Error),
    /// Predicting takes too long to do it unasked.
    #[error("the machine is large; `coho predict barrier` takes its time")]
    Large,
}

/// Predicts the barriers in a profile from its own times between CPUs; `None` if it has none.
///
/// # Errors
/// If they cannot be predicted, with the reason.
pub fn answer(profile: &Profile) -> Option<Result<Answer, Unanswered>> {
    let sync = profile.sync.as_ref()?;
    (!sync.barriers.is_empty() || !sync.fork_join.is_empty()).then(|| {
        let machine = Machine::from_profile(profile)?;
        if machine.len() > MOST_SIMULATED {
            return Err(Unanswered::Large);
        }
        Ok(Answer {
            comparison: compare(&machine, profile),
            winners: winners(&machine),
            extra_line: machine.extra_line,
            latency: machine.latency_source,
        })
    })
}

fn winners(machine: &Machine) -> Vec<Quickest> {
    let teams =
        team_sizes(machine.len()).into_iter().flat_map(|size| Mapping::ALL.map(|mapping| (size, mapping)));
    let winner = |(size, mapping)| quickest(machine, mapping, &predict_quick(machine, size, mapping).ok()?);
    teams.filter_map(winner).collect()
}

/// The CPUs of the ranks 0, 1, … of a team of all CPUs, by mapping; empty without a topology, and for machines so
/// large that nobody would follow the ranks.
pub fn orders(profile: &Profile) -> Vec<(Mapping, Vec<u32>)> {
    let Some(section) = &profile.topology else { return Vec::new() };
    let topology = &section.topology;
    if topology.pus.len() > MOST_RANKED {
        return Vec::new();
    }
    Mapping::ALL.map(|mapping| (mapping, mapping.order(topology, &topology.cpus()))).to_vec()
}

#[cfg(test)]
mod tests {
    use coho_profile::published;

    use super::*;

    #[test]
    fn eight_of_sixteen_ranks_fill_one_module_or_spread_over_both() {
        let paper = published::paper("nakamura-fbs").machine();
        let in_first_module = |(mapping, cpus): (Mapping, Vec<u32>)| {
            assert_eq!(cpus.len(), 16);
            (mapping, cpus[..8].iter().filter(|&&cpu| cpu < 8).count())
        };
        let mapped: Vec<_> = orders(&paper).into_iter().map(in_first_module).collect();
        assert_eq!(mapped, [(Mapping::Sequential, 8), (Mapping::BinaryTree, 4)]);
        assert!(orders(&Profile::default()).is_empty());
    }

    #[test]
    fn barriers_without_times_between_cpus_have_a_reason_and_no_prediction() {
        let paper = published::paper("nakamura-fbs").machine();
        assert!(answer(&paper).unwrap().is_err());
        assert!(answer(&Profile::default()).is_none());
    }
}
