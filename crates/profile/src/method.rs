//! How a section was measured, part of every section.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a section's figures came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Method {
    /// What was done, in a sentence or two.
    pub description: String,
    /// Parameters by name, units in the names.
    pub parameters: BTreeMap<String, Value>,
    /// When the run that measured it began: RFC 3339, UTC, as in the host's `date` of that run. Profiles of earlier versions
    /// do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Passes over what was compared; later ones may visit only the figures that need it.
    pub passes: u64,
    /// Wall time of the section, in seconds.
    pub duration_s: f64,
    /// Whether it was stopped before its end (by signal or time limit); what it had is kept.
    pub interrupted: bool,
    /// Involuntary context switches seen while measuring.
    pub involuntary_switches: u64,
    /// Time that the hypervisor took away from the machine's CPUs meanwhile, in seconds.
    pub steal_s: f64,
    /// What was not measured: name to reason.
    pub not_available: BTreeMap<String, String>,
}
