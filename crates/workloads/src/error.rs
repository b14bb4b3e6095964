//! Why a program could not be run.

use std::fmt;

use coho_platform::{pages, pin, scratch};

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for makes no sense here; the text says what would.
    #[error("{0}")]
    Argument(String),
    /// The machine lacks what is needed.
    #[error("{0}")]
    NotAvailable(String),
    /// There is not enough memory.
    #[error("{0}")]
    Memory(String),
    /// The operating system refused something.
    #[error("{what}: {why}")]
    System {
        /// What was wanted.
        what: String,
        /// Its answer.
        why: String,
    },
    /// The folder to work in is not available.
    #[error(transparent)]
    Scratch(#[from] scratch::Error),
    /// A team cannot be created.
    #[error(transparent)]
    Sync(#[from] coho_sync::Error),
    /// A CPU that was lost or cannot be used.
    #[error("CPU {cpu} cannot be used: {why}")]
    Cpu {
        /// The operating system's number of the CPU.
        cpu: u32,
        /// Why not.
        why: String,
    },
    /// A process failed.
    #[error("{0}")]
    Work(String),
    /// A process did not end in its time.
    #[error("{0}")]
    TimeIsUp(String),
    /// A stop was requested.
    #[error("a stop was requested")]
    Stopped,
    /// A result is wrong, which only a broken barrier or memory explains.
    #[error("{0}")]
    Broken(String),
}

impl Error {
    pub(crate) fn system(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::System { what: what.to_string(), why: why.to_string() }
    }
}

impl From<pin::Error> for Error {
    fn from(error: pin::Error) -> Self {
        match error {
            pin::Error::Cpu { cpu, why } => Self::Cpu { cpu, why: why.to_string() },
            pin::Error::Unknown(why) => Self::system("sched_getaffinity", why),
            error => Self::system("CPUs", error),
        }
    }
}

impl From<pages::Error> for Error {
    fn from(error: pages::Error) -> Self {
        Self::Memory(error.to_string())
    }
}
