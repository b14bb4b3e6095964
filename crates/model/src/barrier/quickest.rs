//! Which algorithm is quickest for which team, and whether the rule finds it.

use coho_profile::Ns;
use serde::{Serialize, Serializer};

use super::{Algorithm, Choice, Machine, Mapping, Prediction, choose, clusters, longest_message};
use crate::json;

/// The quickest barrier of a team, and the one that the rule chooses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quickest {
    /// By simulation.
    #[serde(flatten)]
    pub quickest: Prediction,
    /// By the rule in closed form.
    #[serde(rename = "rule", serialize_with = "named")]
    pub choice: Choice,
    /// How long the rule's choice takes in the simulation; `None` where that algorithm was not predicted.
    #[serde(rename = "rule_ns")]
    pub choice_time: Option<Ns>,
    /// Other algorithms that are quickest somewhere in the range of what is assumed or fitted, where it was
    /// computed ([`add_rivals`](super::add_rivals)).
    #[serde(rename = "or_quickest", serialize_with = "json::texts")]
    pub rivals: Vec<Algorithm>,
}

/// The quickest of the predictions for one team, sorted as [`predict`](super::predict) returns them; `None` if there
/// are none.
pub fn quickest(machine: &Machine, mapping: Mapping, predictions: &[Prediction]) -> Option<Quickest> {
    let quickest = predictions.first()?.clone();
    let team = &machine.order(mapping)[..quickest.threads];
    let across = longest_message(machine, team);
    let clusters = clusters(machine, team);
    let choice = choose(quickest.threads, &clusters, across.0, machine.gap(across).0);
    let algorithm = match choice {
        Choice::OneLine => Algorithm::FbsOneLine,
        Choice::Flat => Algorithm::Fbs,
        Choice::Grid { .. } => Algorithm::Grid,
        Choice::Hierarchical => Algorithm::Hierarchical,
        Choice::Dissemination => Algorithm::Dissemination,
    };
    let choice_time =
        predictions.iter().find(|prediction| prediction.algorithm == algorithm).map(|found| found.time);
    Some(Quickest { quickest, rivals: Vec::new(), choice, choice_time })
}

/// The rule's choice, named as algorithms are: `fbs, one-line`.
pub fn choice_name(choice: &Choice) -> String {
    match choice {
        Choice::OneLine => "fbs, one-line".into(),
        Choice::Flat => "fbs".into(),
        Choice::Grid { group } => format!("grid of {group}"),
        Choice::Hierarchical => "hierarchical".into(),
        Choice::Dissemination => "dissemination-2".into(),
    }
}

fn named<S: Serializer>(choice: &Choice, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&choice_name(choice))
}

/// Team sizes worth looking at: powers of two, and all threads.
pub fn team_sizes(threads: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2usize), |size| size.checked_mul(2));
    powers.take_while(|&size| size < threads).chain((threads > 1).then_some(threads)).collect()
}
