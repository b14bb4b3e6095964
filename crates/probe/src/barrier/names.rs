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

/// The algorithm of this name, `fbs-one-line` being FBS in one line.
pub fn by_name(name: &str) -> Option<Algorithm> {
    Algorithm::ALL.into_iter().find(|&algorithm| full_name(algorithm) == name)
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
