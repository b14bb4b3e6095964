//! Which algorithm wins for which team, and whether the rule finds it.

use super::{Algorithm, Choice, Machine, Mapping, Prediction, choose, clusters, longest_message};

/// The quickest barrier of a team, and the one that the rule takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Quickest {
    /// By simulation.
    pub quickest: Prediction,
    /// Others that are quickest somewhere in the range of what is assumed or fitted, where that was tried
    /// ([`add_rivals`](super::add_rivals)).
    pub rivals: Vec<Algorithm>,
    /// By the rule in closed form.
    pub choice: Choice,
    /// The simulated time of the rule's choice, in ns; `None` where that algorithm was not predicted.
    pub choice_ns: Option<f64>,
}

/// The winner among the predictions for one team, quickest first, as [`predict`](super::predict) has them; `None` if
/// there are none.
pub fn quickest(machine: &Machine, mapping: Mapping, predictions: &[Prediction]) -> Option<Quickest> {
    let quickest = predictions.first()?.clone();
    let team = &machine.order(mapping)[..quickest.threads];
    let across_ns = longest_message(machine, team);
    let clusters = clusters(machine, team);
    let choice = choose(quickest.threads, &clusters, across_ns, machine.gap_ns(across_ns));
    let algorithm = match choice {
        Choice::OneLine => Algorithm::FbsOneLine,
        Choice::Flat => Algorithm::Fbs,
        Choice::Grid { .. } => Algorithm::Grid,
        Choice::Hierarchical => Algorithm::Hierarchical,
        Choice::Dissemination => Algorithm::Dissemination,
    };
    let choice_ns =
        predictions.iter().find(|prediction| prediction.algorithm == algorithm).map(|found| found.ns);
    Some(Quickest { quickest, rivals: Vec::new(), choice, choice_ns })
}

/// The rule's choice under the names that algorithms have: `fbs, one-line`.
pub fn choice_name(choice: &Choice) -> String {
    match choice {
        Choice::OneLine => "fbs, one-line".into(),
        Choice::Flat => "fbs".into(),
        Choice::Grid { group } => format!("grid of {group}"),
        Choice::Hierarchical => "hierarchical".into(),
        Choice::Dissemination => "dissemination-2".into(),
    }
}

/// Sizes of teams worth looking at: powers of two, and all threads.
pub fn team_sizes(threads: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2usize), |size| size.checked_mul(2));
    powers.take_while(|&size| size < threads).chain((threads > 1).then_some(threads)).collect()
}
