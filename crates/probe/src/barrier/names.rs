//! The names that barriers and mappings have in a profile.

use coho_sync::{Algorithm, Mapping};

/// An algorithm's name: `fbs`, `lock`, `tournament-4`.
pub fn barrier_name(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Auto => "auto".into(),
        Algorithm::Fbs | Algorithm::FbsOneLine => "fbs".into(),
        Algorithm::Lock => "lock".into(),
        Algorithm::SpinLock => "spin-lock".into(),
        Algorithm::Central => "central".into(),
        Algorithm::Dissemination { radix } => format!("dissemination-{radix}"),
        Algorithm::Tournament { arity } => format!("tournament-{arity}"),
        Algorithm::Grid => "grid".into(),
        Algorithm::Hierarchical => "hierarchical".into(),
        other => other.to_string(),
    }
}

/// An algorithm's name where its layout has no place of its own: `fbs-one-line`.
pub(crate) fn full_name(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::FbsOneLine => "fbs-one-line".into(),
        other => barrier_name(other),
    }
}

/// The algorithm of this name, `fbs-one-line` being FBS in one line, `tournament-8` a tournament of arity 8.
///
/// # Errors
/// For any other name: what there is to choose from.
pub fn by_name(name: &str) -> Result<Algorithm, String> {
    let number = |of: &str| name.strip_prefix(of)?.parse().ok().filter(|number| *number >= 2);
    let known = || Algorithm::ALL.into_iter().find(|&algorithm| full_name(algorithm) == name);
    let of_any_arity = || number("tournament-").map(|arity| Algorithm::Tournament { arity });
    let of_any_radix = || number("dissemination-").map(|radix| Algorithm::Dissemination { radix });
    let auto = || (name == full_name(Algorithm::Auto)).then_some(Algorithm::Auto);
    known().or_else(of_any_arity).or_else(of_any_radix).or_else(auto).ok_or_else(|| {
        let names = Algorithm::ALL.map(full_name).join(", ");
        format!(
            "there is no such barrier; choose from auto, {names}, tournament-N and dissemination-N, N from 2"
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_barrier_has_a_name_and_trees_any_arity() {
        for algorithm in Algorithm::ALL {
            assert_eq!(by_name(&full_name(algorithm)), Ok(algorithm));
        }
        assert_eq!(by_name("auto"), Ok(Algorithm::Auto));
        assert_eq!(by_name("tournament-8"), Ok(Algorithm::Tournament { arity: 8 }));
        assert_eq!(by_name("dissemination-4"), Ok(Algorithm::Dissemination { radix: 4 }));
        for wrong in ["tournament-1", "dissemination-", "dissemination-x", "FBS", ""] {
            let why = by_name(wrong).unwrap_err();
            assert!(why.contains("fbs-one-line") && why.contains("tournament-N"), "{why}");
        }
    }
}
