//! Why calls that a user names cannot be delegated, or not to the CPUs that the user names.

use std::fmt;

use coho_model::delegation::{LATER, NAMES};

/// Why calls or hosts that a user names make no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// This is neither a call that can be delegated nor another word of a [`List`](super::List).
    Word(String),
    /// This is no call that can be delegated.
    Call(String),
    /// Several lists of hosts are for this call.
    Twice(&'static str),
    /// What stands for CPUs is no list of them; the text says why.
    Cpus(String),
    /// There is no CPU in the list.
    NoCpu,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.join(", ");
        match self {
            Self::Word(name) => {
                write!(f, "'{name}' cannot be delegated; choose from {names}, {LATER}, or auto: what gains")
            }
            Self::Call(name) => write!(f, "'{name}' cannot be delegated; choose from {names}"),
            Self::Twice(call) => write!(f, "'{call}' is given hosts twice"),
            Self::Cpus(why) => f.write_str(why),
            Self::NoCpu => f.write_str("names no CPU"),
        }
    }
}

impl std::error::Error for Error {}
