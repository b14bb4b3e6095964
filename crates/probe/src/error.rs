//! Why an experiment could not be run.

use std::fmt;

use coho_platform::{pages, pin, scratch};

/// What failed, where and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A CPU that cannot be used, or was lost.
    #[error("CPU {cpu} cannot be used: {why}")]
    Cpu {
        /// The operating system's number of the CPU.
        cpu: u32,
        /// Why not.
        why: String,
    },
    /// The process may use no CPU at all.
    #[error("the process may use no CPU")]
    NoCpu,
    /// Two CPUs of which the host never ran both at the same time.
    #[error("CPUs {a} and {b} never ran at the same time")]
    NeverMet {
        /// One.
        a: u32,
        /// The other.
        b: u32,
    },
    /// What was asked for makes no sense here; the text says what would.
    #[error("{0}")]
    Argument(String),
    /// The machine or its system lacks what is needed, or does not report it.
    #[error("{0}")]
    NotAvailable(String),
    /// Memory of the requested size, page kind or node is not available.
    #[error("{0}")]
    Memory(String),
    /// The operating system, a compiler or a library refused something.
    #[error("{what}: {why}")]
    System {
        /// What was wanted.
        what: String,
        /// Its answer.
        why: String,
    },
    /// The temporary folder for this run is not available.
    #[error(transparent)]
    Scratch(#[from] scratch::Error),
    /// A barrier or a team cannot be created.
    #[error(transparent)]
    Sync(#[from] coho_sync::Error),
    /// The machine does not say what it is.
    #[error(transparent)]
    Topology(#[from] coho_topology::Error),
    /// The work that was to be measured failed: a call, a process, another program.
    #[error("{0}")]
    Work(String),
    /// A program that is only measured failed.
    #[error(transparent)]
    Workload(#[from] coho_workloads::Error),
    /// The work did not end in its time.
    #[error("{0}")]
    TimeIsUp(String),
    /// A stop was requested.
    #[error("a stop was requested")]
    Stopped,
    /// A result is wrong, which only a broken barrier or memory explains.
    #[error("{0}")]
    Broken(String),
    /// The settings are held by another run, or were left changed by one that could not restore them.
    #[error("{0}")]
    Held(String),
}

impl Error {
    pub(crate) fn cpu(cpu: u32, why: impl Into<String>) -> Self {
        Self::Cpu { cpu, why: why.into() }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::Argument(text.into())
    }

    pub(crate) fn not_available(text: impl Into<String>) -> Self {
        Self::NotAvailable(text.into())
    }

    pub(crate) fn memory(text: impl Into<String>) -> Self {
        Self::Memory(text.into())
    }

    pub(crate) fn system(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::System { what: what.to_string(), why: why.to_string() }
    }

    pub(crate) fn work(text: impl Into<String>) -> Self {
        Self::Work(text.into())
    }

    pub(crate) fn time_is_up(text: impl Into<String>) -> Self {
        Self::TimeIsUp(text.into())
    }

    pub(crate) fn broken(text: impl Into<String>) -> Self {
        Self::Broken(text.into())
    }

    pub(crate) fn held(text: impl Into<String>) -> Self {
        Self::Held(text.into())
    }
}

impl From<pin::Error> for Error {
    fn from(error: pin::Error) -> Self {
        match error {
            pin::Error::Cpu { cpu, why } => Self::cpu(cpu, why.to_string()),
            pin::Error::Unknown(why) => Self::system("sched_getaffinity", why),
            error => Self::system("CPUs", error),
        }
    }
}

impl From<pages::Error> for Error {
    fn from(error: pages::Error) -> Self {
        Self::memory(error.to_string())
    }
}
