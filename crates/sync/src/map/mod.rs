//! Which CPU each rank runs on (the mapping of Nakamura et al.).

mod arrange;
#[cfg(feature = "topology")]
mod order;

use std::fmt;
use std::str::FromStr;

pub use arrange::Objects;

use crate::Error;

/// How ranks are laid out on the machine. Each core's second hardware threads come after all first ones. If the
/// topology is not known, or the crate was built without it, ranks take the CPUs by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Mapping {
    /// Fills one module, cache or package before the next: threads synchronise faster.
    #[default]
    Sequential,
    /// Halves the machine again and again, so that ranks spread over packages and caches first: each thread has more
    /// cache to itself.
    BinaryTree,
}

impl Mapping {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::BinaryTree];

    /// The mapping's name in profiles and on the command line: `sequential`, `binary-tree`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::BinaryTree => "binary-tree",
        }
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mapping {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|mapping| mapping.name() == text).ok_or_else(|| {
            Error::Argument(format!("'{text}' is not a mapping; choose sequential or binary-tree"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for mapping in Mapping::ALL {
            assert_eq!(mapping.to_string().parse::<Mapping>().unwrap(), mapping);
        }
        assert!("tree".parse::<Mapping>().unwrap_err().to_string().contains("binary-tree"));
    }
}
