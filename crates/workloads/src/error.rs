//! Why a program could not be run.

use std::fmt;

use coho_platform::{pages, pin, scratch};

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for makes no sense here; the text says what would.
    Argument(String),
    /// The machine lacks what is needed.
    NotAvailable(String),
    /// There is not enough memory.
    Memory(String),
    /// The operating system refused something.
    System {
        /// What was wanted.
        what: String,
        /// Its answer.
        why: String,
    },
    /// The folder to work in is not available.
    Scratch(scratch::Error),
    /// A team cannot be created.
    Sync(coho_sync::Error),
    /// A CPU that was lost or cannot be used.
    Cpu {
        /// The operating system's number of the CPU.
        cpu: u32,
        /// Why not.
        why: String,
    },
    /// A process failed.
    Work(String),
    /// A process did not end in its time.
    TimeIsUp(String),
    /// A stop was requested.
    Stopped,
    /// A result is wrong, which only a broken barrier or memory explains.
    Broken(String),
}

impl Error {
    pub(crate) fn system(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::System { what: what.to_string(), why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu { cpu, why } => write!(f, "CPU {cpu} cannot be used: {why}"),
            Self::System { what, why } => write!(f, "{what}: {why}"),
            Self::Scratch(error) => error.fmt(f),
            Self::Sync(error) => error.fmt(f),
            Self::Stopped => f.write_str("a stop was requested"),
            Self::Argument(text)
            | Self::NotAvailable(text)
            | Self::Memory(text)
            | Self::Work(text)
            | Self::TimeIsUp(text)
            | Self::Broken(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scratch(error) => error.source(),
            Self::Sync(error) => error.source(),
            _ => None,
        }
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

impl From<scratch::Error> for Error {
    fn from(error: scratch::Error) -> Self {
        Self::Scratch(error)
    }
}

impl From<coho_sync::Error> for Error {
    fn from(error: coho_sync::Error) -> Self {
        Self::Sync(error)
    }
}
