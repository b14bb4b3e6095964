//! How a section was measured; part of every section.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a section's figures were measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Method {
    /// What was done, in a sentence or two.
    pub description: String,
    /// Parameters by name, units in the names.
    pub parameters: BTreeMap<String, Value>,
    /// When the run that measured the section began: RFC 3339, UTC, as in the `date` of that run's host. Absent
    /// where the figures were published or imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Passes over what was compared; later passes may visit only the figures that need it.
    pub passes: u64,
    /// Wall time of the section, in seconds.
    pub duration_s: f64,
    /// Whether a signal or time limit stopped it early; the figures it had by then are kept.
    pub interrupted: bool,
    /// Involuntary context switches seen while measuring.
    pub involuntary_switches: u64,
    /// Time that the hypervisor took from the machine's CPUs meanwhile, in seconds.
    pub steal_s: f64,
    /// What was not measured: name to reason.
    pub not_available: BTreeMap<String, String>,
}
