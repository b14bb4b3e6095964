//! Why there is no host.

use std::{fmt, io};

use coho_platform::pin;

/// Why a host cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be on the CPU that was asked for.
    Cpu(pin::Error),
    /// The operating system gives no thread.
    Thread(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "no thread can be started: {error}"),
        }
    }
}

impl std::error::Error for Error {}
