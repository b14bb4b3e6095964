//! The algorithms to choose from, and a choice.

use std::fmt;

use super::groups::Groups;

/// How the threads of a barrier learn that all have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// What suits the number of threads, their places and, where given, measured times.
    #[default]
    Auto,
    /// FBS, each flag on a line of its own (paper 3).
    Fbs,
    /// FBS, all flags in one line (paper 3).
    FbsOneLine,
    /// A counter protected by the system's mutex: the lock variable that paper 3 compares with.
    Lock,
    /// The same with a spin lock.
    SpinLock,
    /// Central, sense-reversing: an atomic counter and a flag.
    Central,
    /// Dissemination (Hensgen, Finkel & Manber): a logarithm of rounds without a root.
    Dissemination {
        /// From how many it knows more after each round, at least 2.
        radix: usize,
    },
    /// A tournament with release by the winners.
    Tournament {
        /// How many meet in a round, at least 2.
        arity: usize,
    },
    /// FBS inside each cache cluster, then FBS between equal places of all clusters: two rounds, no root, no release.
    Grid,
    /// The grid with a round for each level at which CPUs share something.
    Hierarchical,
}

impl Algorithm {
    /// Every algorithm but [`Algorithm::Auto`], with the usual radix and arities.
    pub const ALL: [Self; 10] = [
        Self::Fbs,
        Self::FbsOneLine,
        Self::Lock,
        Self::SpinLock,
        Self::Central,
        Self::Dissemination { radix: 2 },
        Self::Tournament { arity: 2 },
        Self::Tournament { arity: 4 },
        Self::Grid,
        Self::Hierarchical,
    ];
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fbs => f.write_str("FBS"),
            Self::FbsOneLine => f.write_str("FBS in one line"),
            Self::Lock => f.write_str("lock variable"),
            Self::SpinLock => f.write_str("spin lock"),
            Self::Central => f.write_str("central"),
            Self::Dissemination { radix } => write!(f, "dissemination of radix {radix}"),
            Self::Tournament { arity } => write!(f, "tournament of arity {arity}"),
            Self::Grid => f.write_str("grid"),
            Self::Hierarchical => f.write_str("hierarchical"),
        }
    }
}

/// Up to so many threads reading all flags costs less than a second round.
const FLAT: usize = 16;
/// From so many threads on a third round costs less than reading the flags of two.
const GRID: usize = 256;

/// What [`Algorithm::Auto`] stands for. `measured` tells the nanoseconds that a barrier took where that is known.
pub(super) fn choose(
    threads: usize,
    levels: &[Groups],
    crowded: bool,
    measured: Option<&dyn Fn(Algorithm) -> Option<f64>>,
) -> Algorithm {
    if crowded {
        // Nobody gains by finding out early, and one wake-up serves all.
        return Algorithm::Central;
    }
    let known = |&algorithm: &Algorithm| Some((algorithm, measured?(algorithm).filter(|ns| ns.is_finite())?));
    let fastest = Algorithm::ALL.iter().filter_map(known).min_by(|a, b| a.1.total_cmp(&b.1));
    match (fastest, threads) {
        (Some((algorithm, _)), _) => algorithm,
        (None, 2) => Algorithm::FbsOneLine,
        (None, ..=FLAT) => Algorithm::Fbs,
        (None, _) if threads > GRID && levels.len() > 1 => Algorithm::Hierarchical,
        (None, _) => Algorithm::Grid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_by_size_and_levels() {
        use Algorithm::*;
        let deep = [Groups::new(), Groups::new()];
        for (threads, levels, chosen) in [
            (1, &deep[..0], Fbs),
            (2, &deep[..1], FbsOneLine),
            (16, &deep[..2], Fbs),
            (17, &deep[..0], Grid),
            (256, &deep[..2], Grid),
            (257, &deep[..1], Grid),
            (257, &deep[..2], Hierarchical),
        ] {
            assert_eq!(choose(threads, levels, false, None), chosen, "{threads}");
            assert_eq!(choose(threads, levels, true, None), Central);
        }
    }

    #[test]
    fn believes_measured_times() {
        let measured = |algorithm| match algorithm {
            Algorithm::Central => Some(80.0),
            Algorithm::Fbs => Some(90.0),
            Algorithm::Grid => Some(f64::NAN),
            _ => None,
        };
        assert_eq!(choose(64, &[], false, Some(&measured)), Algorithm::Central);
        assert_eq!(choose(64, &[], false, Some(&|_| None)), Algorithm::Grid);
    }
}
