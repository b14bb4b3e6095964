//! What it costs many CPUs to work on one cache line at once: section `contention`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, higher, lower, parameters};
use crate::{Estimate, Method};

/// From one to all CPUs, each working on one line as fast as it can. Two that add are the free-running pairs of
/// Kawabe & Furuya.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Contention {
    /// How it was measured.
    pub method: Method,
    /// A row for each operation, number of CPUs and choice of them.
    pub rows: Vec<ContentionRow>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Contention);

/// What each CPU does to the line, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LineOperation {
    /// Adds 1 atomically to a word that all share.
    Add,
    /// Adds 1 to that word with a load and compare-and-swap, repeated until it succeeds.
    CompareAndSwap,
    /// Exchanges that word for a value of its own.
    Exchange,
    /// Stores to a word of its own on the line (false sharing); beyond eight CPUs, several share a word.
    Store,
    /// Stores to the word that all share (true sharing).
    StoreOneWord,
    /// The first stores to a word of its own, and the others load words that nobody writes (false sharing).
    OneWriter,
}

impl LineOperation {
    /// All operations.
    pub const ALL: [Self; 6] =
        [Self::Add, Self::CompareAndSwap, Self::Exchange, Self::Store, Self::StoreOneWord, Self::OneWriter];

    /// The operation's name in profiles and on the command line.
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
            Self::OneWriter => "one-writer",
        }
    }

    /// For people: what sharing a line is called where several CPUs do this to it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Add | Self::CompareAndSwap | Self::Exchange => self.name(),
            Self::Store => "store (false sharing)",
            Self::StoreOneWord => "store-one-word (true sharing)",
            Self::OneWriter => "one-writer (false sharing)",
        }
    }
}

impl fmt::Display for LineOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Some CPUs at one operation, over the time in which all of them were at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContentionRow {
    /// What they did.
    pub operation: LineOperation,
    /// Which of the CPUs took part: `sequential` (the nearest) or `binary-tree` (the farthest).
    pub mapping: String,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// Time of one operation of one CPU, in ns: the mean over the CPUs. `null` if they never ran at the same time.
    pub ns: Option<Estimate>,
    /// Successful operations per second, all CPUs together.
    pub operations_per_s: Option<Estimate>,
    /// `ns` over the time of one CPU alone in the same pass; `null` for one CPU alone.
    pub times_alone: Option<Estimate>,
    /// Each CPU's share of all operations, in the order of `cpus`; the shares sum to 1. Empty if there is no
    /// time.
    pub shares: Vec<f64>,
    /// Fairness within a batch by Jain's index, 1/n to 1: 1 if all CPUs did equally much, 1/n if one did
    /// everything.
    pub jain: Option<Estimate>,
    /// Operations of the slowest CPU over those of the fastest, within a batch.
    pub least_over_most: Option<Estimate>,
    /// Failed attempts per success; for compare-and-swap only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_per_success: Option<Estimate>,
    /// Batches left out because a CPU was preempted meanwhile.
    pub preempted_batches: u64,
}

const ROWS: &[Column<ContentionRow>] = &[
    lower("contention.time", "operation on a line that several CPUs use at once", "ns", |row| given(&row.ns)),
    higher("contention.rate", "operations of all CPUs together", "1/s", |row| given(&row.operations_per_s)),
    lower("contention.times-alone", "operation over that of one CPU alone", "", |row| {
        given(&row.times_alone)
    }),
    higher("contention.jain", "Jain's index of fairness", "", |row| given(&row.jain)),
    higher("contention.least-over-most", "the slowest CPU's share over the quickest one's", "", |row| {
        given(&row.least_over_most)
    }),
    lower("contention.failures", "failed attempts per success", "", |row| given(&row.failures_per_success)),
];

impl Section for Contention {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.rows.iter().flat_map(|row| &row.cpus).copied())
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let rows = self.rows.iter().map(|row| {
            let cpus = vec![("cpus", row.cpus.len().to_string())];
            ([parameters![row; operation, mapping], cpus].concat(), row)
        });
        all.rows(ROWS, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn rows_follow_the_schema_and_are_read_as_they_were_written() {
        let row = |operation: LineOperation| ContentionRow {
            operation,
            mapping: "sequential".into(),
            cpus: vec![0, 1],
            ns: Some(Estimate::exact(50.0)),
            operations_per_s: Some(Estimate::exact(4e7)),
            times_alone: None,
            shares: vec![0.25, 0.75],
            jain: Some(Estimate::exact(0.8)),
            least_over_most: Some(Estimate::exact(1.0 / 3.0)),
            failures_per_success: (operation == LineOperation::CompareAndSwap).then(|| Estimate::exact(0.5)),
            preempted_batches: 2,
        };
        let rows = LineOperation::ALL.map(row).to_vec();
        let contention = Some(Contention { rows, ..Contention::default() });
        let profile = Profile { contention, ..Profile::default() };
        let value = serde_json::to_value(&profile).unwrap();
        let schema = serde_json::from_str(Profile::JSON_SCHEMA).unwrap();
        jsonschema::validate(&schema, &value).unwrap();
        let rows = value["contention"]["rows"].as_array().unwrap().iter();
        assert!(rows.map(|row| &row["operation"]).eq(LineOperation::ALL.map(LineOperation::name)));
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
    }
}
