//! The algorithms to choose from.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// How the threads of a barrier learn that all have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// The best one for the number of threads, their places and, if given, measured times: the quickest by [the
    /// rule](crate::rule), or [`Algorithm::Central`] if there are more threads than CPUs.
    #[default]
    Auto,
    /// FBS, each flag on a line of its own (Nakamura et al.).
    Fbs,
    /// FBS, all flags on one line (Nakamura et al.).
    FbsOneLine,
    /// A counter protected by the system's mutex: the lock variable that Nakamura et al. compare with.
    Lock,
    /// The same with a spin lock.
    SpinLock,
    /// Central, sense-reversing: an atomic counter and a flag.
    Central,
    /// Dissemination (Hensgen, Finkel & Manber): a logarithm of rounds without a root.
    Dissemination {
        /// The factor by which the number of known arrivals grows in each round, at least 2.
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
    /// Every algorithm except [`Algorithm::Auto`], with the usual radix and arities.
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

    /// The algorithm's name, as [`str::parse`] accepts it: `fbs`, `fbs-one-line`, `lock`, `tournament-4`.
    pub fn name(self) -> String {
        match self {
            Self::Auto => "auto".into(),
            Self::Fbs => "fbs".into(),
            Self::FbsOneLine => "fbs-one-line".into(),
            Self::Lock => "lock".into(),
            Self::SpinLock => "spin-lock".into(),
            Self::Central => "central".into(),
            Self::Dissemination { radix } => format!("dissemination-{radix}"),
            Self::Tournament { arity } => format!("tournament-{arity}"),
            Self::Grid => "grid".into(),
            Self::Hierarchical => "hierarchical".into(),
        }
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    /// The algorithm with this name, such as `fbs-one-line`, or `tournament-8` for arity 8.
    ///
    /// # Errors
    /// For any other name; the message lists the names.
    fn from_str(name: &str) -> Result<Self, Error> {
        let number = |of: &str| name.strip_prefix(of)?.parse().ok().filter(|number| *number >= 2);
        let known = Self::ALL.into_iter().chain([Self::Auto]).find(|algorithm| algorithm.name() == name);
        let of_any_arity = || number("tournament-").map(|arity| Self::Tournament { arity });
        let of_any_radix = || number("dissemination-").map(|radix| Self::Dissemination { radix });
        known.or_else(of_any_arity).or_else(of_any_radix).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Argument(format!(
                "there is no such barrier; choose from auto, {names}, tournament-N and dissemination-N, N from 2"
            ))
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_name_and_trees_any_arity() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
        }
        assert_eq!("auto".parse(), Ok(Algorithm::Auto));
        assert_eq!("tournament-8".parse(), Ok(Algorithm::Tournament { arity: 8 }));
        assert_eq!("dissemination-4".parse(), Ok(Algorithm::Dissemination { radix: 4 }));
        for wrong in ["tournament-1", "dissemination-", "dissemination-x", "FBS", ""] {
            let why = wrong.parse::<Algorithm>().unwrap_err().to_string();
            assert!(why.contains("fbs-one-line") && why.contains("tournament-N"), "{why}");
        }
    }
}
