//! What this machine and its user lack for coho, what that costs, and what would change it.

mod facts;
mod rows;

use serde::Serialize;

pub use facts::{Counting, Facts, HugePages, Moves};
pub use rows::rows;

/// One thing that coho needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The thing: `counters`.
    pub what: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was seen, or what is missing.
    pub why: String,
    /// Which figures and commands go without it; empty if nothing is lacking.
    pub costs: String,
    /// What would change it; empty if nothing is lacking.
    pub fix: String,
}

/// Whether something that coho needs is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// There is none.
    Missing,
    /// There is less of it than there could be.
    Limited,
    /// Nothing says whether it is there.
    Unknown,
    /// Nothing is lacking.
    Fine,
}
