//! The numbers of threads that the preloaded library has chosen in a process, as the process tells them.

use serde::{Deserialize, Serialize};

/// What was chosen in the processes of a command.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Chosen {
    /// Those that ran on coho's teams, opened regions, and exited by themselves.
    pub processes: Vec<Choices>,
}

/// What was chosen in a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choices {
    /// The process.
    pub pid: u32,
    /// Why regions kept their numbers of threads, if they did.
    pub kept: Option<String>,
    /// The regions of its code for which a number was looked for.
    pub regions: Vec<Region>,
}

/// A region of a program's code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// The function that the compiler has made of it: a file, and the place in it.
    pub place: String,
    /// The number of threads that was chosen.
    pub threads: u32,
    /// How many there would be otherwise.
    pub of: u32,
    /// How often it was executed.
    pub executions: u64,
    /// Whether the search had ended when the process did.
    pub decided: bool,
    /// The numbers that were compared.
    pub tried: Vec<Tried>,
}

/// What is known of a number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The number.
    pub threads: u32,
    /// Time of an execution with it, in ns.
    pub ns: f64,
}

impl Region {
    /// Time of an execution with so many threads, in ns.
    #[must_use]
    pub fn ns(&self, threads: u32) -> Option<f64> {
        self.tried.iter().find(|tried| tried.threads == threads).map(|tried| tried.ns)
    }

    /// The time of all its executions, in ns; 0 if none is known.
    #[must_use]
    pub fn all_ns(&self) -> f64 {
        self.ns(self.threads).unwrap_or_default() * self.executions as f64
    }
}
