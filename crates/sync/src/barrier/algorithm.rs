//! The algorithms to choose from.

use std::fmt;

/// How the threads of a barrier learn that all have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// What suits the number of threads, their places and, where given, measured times: the quickest by
    /// [the rule](crate::rule), or [`Algorithm::Central`] where there are more threads than CPUs.
    #[default]
    Auto,
    /// FBS, each flag on a line of its own (Nakamura et al.).
    Fbs,
    /// FBS, all flags in one line (Nakamura et al.).
    FbsOneLine,
    /// A counter protected by the system's mutex: the lock variable that Nakamura et al. compares with.
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
