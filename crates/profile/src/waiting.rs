//! How barriers wait when CPUs are scarce: what `coho barrier --waiting` measures. Not a section of a profile.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Estimate;

/// How barriers wait under several conditions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// What was measured.
    pub cells: Vec<WaitingCell>,
    /// What could not be measured, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Time that the hypervisor took from the CPUs meanwhile, in seconds.
    pub steal_s: f64,
}

/// One barrier under one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingCell {
    /// `auto`, `fbs`, …, or `team`: the barrier of a team's members.
    pub algorithm: String,
    /// Threads that meet.
    pub threads: u32,
    /// `own CPU`: one CPU per thread, in turn where there are fewer; `one CPU`: all threads on the first CPU,
    /// without the barrier knowing; `free`.
    pub pinning: &'static str,
    /// `idle`: nothing else of this program runs; `neighbour`: a thread computes without end on the first CPU;
    /// `quota 0.5`: the CPU time that the control group allows.
    pub condition: String,
    /// Time of one barrier in ns, over bursts of about 30 ms.
    pub ns: Estimate,
    /// That time over the time of `pthread_barrier_wait` in the same round.
    pub pthread_ratio: Estimate,
}
