//! The names that barriers have in a profile, and the sizes of their teams.

use coho_sync::{Algorithm, Mapping};

/// An algorithm's name: `fbs`, `lock`, `tournament-4`.
pub fn barrier_name(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::FbsOneLine => Algorithm::Fbs.name(),
        other => other.name(),
    }
}

/// Where an algorithm's flags are: `separate-lines` or `one-line`; empty if there is no choice.
pub fn layout_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Fbs => "separate-lines",
        Algorithm::FbsOneLine => "one-line",
        _ => "",
    }
}

/// The entry for a team that is not measured because its ranks have the same CPUs as in an earlier mapping: what, and
/// why.
pub(crate) fn same_places(mapping: Mapping, threads: usize, like: Mapping) -> (String, String) {
    (
        format!("{mapping} mapping, {threads} threads"),
        format!("its ranks have the same CPUs as in {like} mapping"),
    )
}

/// Sizes of teams worth measuring on this many CPUs: powers of two, and all of them.
pub(crate) fn team_sizes(cpus: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2usize), |size| size.checked_mul(2));
    powers.take_while(|&size| size < cpus).chain((cpus > 1).then_some(cpus)).collect()
}
