//! What can go wrong when barriers and teams are created.

use std::fmt;

use coho_platform::pin;

/// Why a barrier or a team cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A number of threads outside `1..=most`.
    Size {
        /// The requested number.
        asked: usize,
        /// The most that is possible.
        most: usize,
    },
    /// An argument makes no sense; the text says why.
    Argument(String),
    /// A thread cannot run on a CPU.
    Cpu {
        /// The operating system's number of the CPU.
        cpu: u32,
        /// Why not.
        why: String,
    },
    /// The operating system refused something.
    System {
        /// What was requested.
        what: &'static str,
        /// Its answer.
        why: String,
    },
    /// Ranks of a [`ProcessBarrier`](crate::ProcessBarrier) that have not joined in time.
    Absent {
        /// The ranks, in ascending order.
        ranks: Vec<usize>,
    },
    /// The process is a child that `fork` made after the team was started; its threads stayed with the parent.
    Forked,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { asked, most } => {
                write!(f, "{asked} threads requested; 1 to {most} are possible")
            }
            Self::Argument(why) => f.write_str(why),
            Self::Cpu { cpu, why } => write!(f, "CPU {cpu}: {why}"),
            Self::System { what, why } => write!(f, "{what}: {why}"),
            Self::Absent { ranks } => write!(f, "ranks that have not joined in time: {ranks:?}"),
            Self::Forked => f.write_str(
                "the team's threads stayed with the process that called fork; start another team in the child",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<pin::Error> for Error {
    fn from(error: pin::Error) -> Self {
        match error {
            pin::Error::Cpu { cpu, why } => Self::Cpu { cpu, why: why.to_string() },
            error => Self::System { what: "the CPUs that this process may use", why: error.to_string() },
        }
    }
}
