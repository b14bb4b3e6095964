//! The names that barriers and mappings have in a profile.

use coho_sync::{Algorithm, Mapping};

/// An algorithm's name: `fbs`, `lock`, `tournament-4`.
pub fn barrier_name(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::FbsOneLine => Algorithm::Fbs.name(),
        other => other.name(),
    }
}

/// Where an algorithm's flags lie: `separate-lines` or `one-line`; empty where there is no choice.
pub fn layout_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Fbs => "separate-lines",
        Algorithm::FbsOneLine => "one-line",
        _ => "",
    }
}

/// A mapping's name: `sequential` or `binary-tree`.
pub fn mapping_name(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::Sequential => "sequential",
        Mapping::BinaryTree => "binary-tree",
    }
}

/// What is not measured because the ranks of a team would have the CPUs that they have in an earlier mapping: what,
/// and why.
pub(crate) fn same_places(mapping: Mapping, threads: usize, like: Mapping) -> (String, String) {
    (
        format!("{} mapping, {threads} threads", mapping_name(mapping)),
        format!("its ranks have the same CPUs as in {} mapping", mapping_name(like)),
    )
}
