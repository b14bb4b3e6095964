//! Why an experiment could not be run.

use std::fmt;

use coho_platform::{pages, pin};

/// What failed, where and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A CPU that cannot be used.
    Cpu {
        /// The CPU.
        cpu: u32,
        /// Why not.
        why: String,
    },
    /// Anything else.
    Other(String),
}

impl Error {
    pub(crate) fn cpu(cpu: u32, why: impl Into<String>) -> Self {
        Self::Cpu { cpu, why: why.into() }
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu { cpu, why } => write!(f, "CPU {cpu} cannot be used: {why}"),
            Self::Other(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<pages::Error> for Error {
    fn from(error: pages::Error) -> Self {
        Self::other(error.to_string())
    }
}

impl From<pin::Error> for Error {
    fn from(error: pin::Error) -> Self {
        match error {
            pin::Error::Cpu { cpu, why } => Self::cpu(cpu, why.to_string()),
            error => Self::other(error.to_string()),
        }
    }
}
