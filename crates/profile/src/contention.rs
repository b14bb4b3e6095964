//! What many CPUs on one line at once cost each other: section `contention`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Estimate, Method};

/// One to all CPUs that work on one line as fast as they can. Two that add are the free-running pairs of Kawabe & Furuya.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Contention {
    /// How it was measured.
    pub method: Method,
    /// A row for each operation, number of CPUs and choice of them.
    pub rows: Vec<ContentionRow>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// What each CPU does to the line, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineOperation {
    /// Adds 1 atomically to a word that all share.
    Add,
    /// Adds 1 to it by load and compare-and-swap, repeated until it succeeds.
    CompareAndSwap,
    /// Exchanges it for a value of its own.
    Exchange,
    /// Stores to a word of its own on the line; beyond eight CPUs, several share a word.
    Store,
    /// Stores to the word that all share.
    StoreOneWord,
}

impl LineOperation {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Add, Self::CompareAndSwap, Self::Exchange, Self::Store, Self::StoreOneWord];

    /// Its name in profiles and on the command line.
    ///
    /// ```
    /// assert_eq!(coho_profile::LineOperation::CompareAndSwap.name(), "compare-and-swap");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::CompareAndSwap => "compare-and-swap",
            Self::Exchange => "exchange",
            Self::Store => "store",
            Self::StoreOneWord => "store-one-word",
        }
    }
}

impl fmt::Display for LineOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Some CPUs at one operation, in the time in which all of them were at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContentionRow {
    /// What they did.
    pub operation: LineOperation,
    /// Which of the CPUs took part: `sequential` (the nearest) or `binary-tree` (the farthest).
    pub mapping: String,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// Time of one operation of one CPU, in ns: the mean over the CPUs. `null` if they never ran at the same time.
    pub ns: Option<Estimate>,
    /// Operations that succeeded, a second, of all CPUs together.
    pub operations_per_s: Option<Estimate>,
    /// The time over that of one CPU alone in the same pass; `null` for one alone.
    pub times_alone: Option<Estimate>,
    /// Each CPU's share of all operations, in the order of `cpus`: they sum to 1. Empty if there is no time.
    pub shares: Vec<f64>,
    /// Fairness within a batch by Jain's index, 1/n to 1: 1 if all CPUs did as much, 1/n if one did all.
    pub jain: Option<Estimate>,
    /// Operations of the CPU that did least over those of the one that did most, within a batch.
    pub least_over_most: Option<Estimate>,
    /// Attempts that failed, for each that succeeded; of compare-and-swap only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_per_success: Option<Estimate>,
    /// Batches that count for nothing, as a CPU was away meanwhile.
    pub preempted_batches: u64,
}
