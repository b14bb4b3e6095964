//! What whole programs do under placements: section `workloads`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Estimate, Method};

/// System benchmarks by number of copies and placement (paper 5).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Workloads {
    /// How it was measured; compiler and flags of the programs stand in its parameters.
    pub method: Method,
    /// A row for each test, placement, class of pair and number of copies.
    pub results: Vec<WorkloadResult>,
    /// What the tests with an index come to together.
    pub scores: Vec<Score>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// What one test did under one placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkloadResult {
    /// `dhrystone2`, `pipe_context_switching`, …, `kernel_build`; UnixBench's twelve by the names of
    /// [`published::kimoto_bulldozer`](crate::published::kimoto_bulldozer).
    pub test: String,
    /// Where the copies ran: `compact`, `spread`, a level (`L2`, `package`), or `none` where the scheduler chose.
    pub placement: String,
    /// For programs of two processes, how near their CPUs were: `same CPU`, `core`, `L2`, `L3`, `system`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair_class: Option<String>,
    /// Copies that ran at once.
    pub copies: u32,
    /// The result in `unit`: of all copies together, as UnixBench counts them.
    pub value: Option<Estimate>,
    /// `lps` (loops a second), `lpm` (loops a minute), `KBps`, `MWIPS`, `s`.
    pub unit: String,
    /// UnixBench's index of the result's median: ten times the result over its baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<f64>,
    /// CPUs that the copies were seen on.
    pub cpus: Vec<u32>,
    /// Effective clock of those CPUs meanwhile, in GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ghz: Option<Estimate>,
    /// Time that the hypervisor took away from those CPUs meanwhile, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_s: Option<f64>,
    /// Share of the time in which a task waited for a CPU (pressure stall information, `some`), 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_cpu_some: Option<f64>,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// UnixBench's score of one placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Score {
    /// As in [`WorkloadResult::placement`].
    pub placement: String,
    /// Copies that ran at once.
    pub copies: u32,
    /// The geometric mean of the tests' indices.
    pub index: f64,
    /// How many tests it is the mean of; scores of different tests are not comparable.
    pub tests: u32,
}
