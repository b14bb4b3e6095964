//! Why an experiment could not be run.

use std::fmt;

use coho_platform::{pages, pin, scratch};

/// What failed, where and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A CPU that cannot be used, or was lost.
    Cpu {
        /// The operating system's number of the CPU.
        cpu: u32,
        /// Why not.
        why: String,
    },
    /// The process may use no CPU at all.
    NoCpu,
    /// Two CPUs of which the host never ran both at the same time.
    NeverMet {
        /// One.
        a: u32,
        /// The other.
        b: u32,
    },
    /// What was asked for makes no sense here; the text says what would.
    Argument(String),
    /// The machine or its system lacks what is needed, or does not report it.
    NotAvailable(String),
    /// Memory of the requested size, page kind or node is not available.
    Memory(String),
    /// The operating system, a compiler or a library refused something.
    System {
        /// What was wanted.
        what: String,
        /// Its answer.
        why: String,
    },
    /// The temporary folder for this run is not available.
    Scratch(scratch::Error),
    /// A barrier or a team cannot be created.
    Sync(coho_sync::Error),
    /// The machine does not say what it is.
    Topology(coho_topology::Error),
    /// The work that was to be measured failed: a call, a process, another program.
    Work(String),
    /// The work did not end in its time.
    TimeIsUp(String),
    /// A stop was requested.
    Stopped,
    /// A result is wrong, which only a broken barrier or memory explains.
    Broken(String),
    /// The settings are held by another run, or were left changed by one that could not restore them.
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu { cpu, why } => write!(f, "CPU {cpu} cannot be used: {why}"),
            Self::NoCpu => f.write_str("the process may use no CPU"),
            Self::NeverMet { a, b } => write!(f, "CPUs {a} and {b} never ran at the same time"),
            Self::System { what, why } => write!(f, "{what}: {why}"),
            Self::Scratch(error) => error.fmt(f),
            Self::Sync(error) => error.fmt(f),
            Self::Topology(error) => error.fmt(f),
            Self::Stopped => f.write_str("a stop was requested"),
            Self::Argument(text)
            | Self::NotAvailable(text)
            | Self::Memory(text)
            | Self::Work(text)
            | Self::TimeIsUp(text)
            | Self::Broken(text)
            | Self::Held(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scratch(error) => error.source(),
            Self::Sync(error) => error.source(),
            Self::Topology(error) => error.source(),
            _ => None,
        }
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

impl From<coho_workloads::Error> for Error {
    fn from(error: coho_workloads::Error) -> Self {
        use coho_workloads::Error as Its;
        match error {
            Its::Argument(text) => Self::Argument(text),
            Its::NotAvailable(text) => Self::NotAvailable(text),
            Its::Memory(text) => Self::Memory(text),
            Its::System { what, why } => Self::System { what, why },
            Its::Scratch(error) => Self::Scratch(error),
            Its::Sync(error) => Self::Sync(error),
            Its::Cpu { cpu, why } => Self::Cpu { cpu, why },
            Its::TimeIsUp(text) => Self::TimeIsUp(text),
            Its::Stopped => Self::Stopped,
            Its::Broken(text) => Self::Broken(text),
            other => Self::Work(other.to_string()),
        }
    }
}

impl From<coho_topology::Error> for Error {
    fn from(error: coho_topology::Error) -> Self {
        Self::Topology(error)
    }
}
