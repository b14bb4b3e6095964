//! What the model says of the section `calls`.

use coho_profile::{Estimate, Footprint, Ns};
use serde::Serialize;

/// What follows from the figures of the section `calls`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Judgement {
    /// What each call costs its caller, in the order of the calls.
    #[serde(rename = "judgements")]
    pub costs: Vec<CallCost>,
    /// From which footprint on another core should execute each call; empty without curves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<DelegationVerdict>,
    /// The curves as the model expects them from the section's other figures; empty without curves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<CurvePoint>,
}

/// What one call costs its caller.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CallCost {
    /// The call.
    pub name: String,
    /// Data and code that a cold call brings in, in KiB (Shimosawa, Hori & Ishikawa: lines that the level-2 cache
    /// missed). By the timing method the data that it uses in the level-1 cache, with the code of user mode where
    /// `code_lines` tells that.
    pub footprint_kib: Option<f64>,
    /// The time or cycles of the call right after a cold one, over those of the cold one, 0 to 1: the paper's warm over
    /// cold. Of the instruction alone where there is one, as the paper counts the kernel's part of system calls. `null` where
    /// that call was not measured a second time.
    pub warm_over_cold: Option<f64>,
    /// The same of the steady state, over the cold call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_over_cold: Option<f64>,
    /// What the call and its damage cost the caller, with the working set of `set_bytes`.
    pub cost_ns: Option<Ns>,
    /// The working set of which the damage was taken, in bytes.
    pub set_bytes: Option<u64>,
    /// What a message to another core and back costs, from `coherence`; `null` where that was not measured.
    pub channel_ns: Option<Ns>,
    /// For how long `channel_ns` was seen to hold, and whether other surveys of the host differ; `null` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_holds: Option<String>,
    /// The figures in words, and what is not known.
    pub why: String,
}

/// Whether another core should execute a call, by the measured curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DelegationVerdict {
    /// The call.
    pub call: String,
    /// Bytes that it moves.
    pub payload_bytes: u64,
    /// The file system of its file.
    pub filesystem: Option<String>,
    /// How far apart the two CPUs were in this run, and how gains were told from chance.
    pub mode: String,
    /// Whether it pays while the caller waits.
    pub decision: Decision,
    /// The least footprint, in bytes, from which on the gain is beyond chance at every footprint measured, two at least.
    pub from_footprint_bytes: Option<u64>,
    /// The gain there; without such a footprint, at the largest that was measured.
    pub gain_ns: Option<Estimate>,
    /// Whether it pays while the caller works on.
    pub async_decision: Decision,
    /// The least work from which on that gain is beyond chance at every footprint measured, two at least.
    pub async_from_work_ns: Option<Ns>,
    /// The least of the gains from there on, over all footprints.
    pub async_gain_ns: Option<Estimate>,
    /// How far the model's curve at home is from the measured one: the median of the relative distances, 0 to 1.
    pub home_error: Option<f64>,
    /// The same for the call on another core.
    pub away_error: Option<f64>,
    /// In words.
    pub why: String,
}

impl DelegationVerdict {
    /// Whether the verdict is on this row's call, payload and file system.
    pub fn is_on(&self, row: &Footprint) -> bool {
        (self.call.as_str(), self.payload_bytes, self.filesystem.as_deref()) == row.call_key()
    }
}

/// What intervals say of a gain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It pays from some point on.
    From,
    /// `coho run --delegate` does not take it, so nothing can be gained.
    Untaken,
    /// It costs more than at home at every point measured.
    Never,
    /// Some gains may be chance, or it pays at some points only.
    #[default]
    Undecided,
}

/// A call's curve as the model expects it from what was measured apart from it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The call.
    pub call: String,
    /// Bytes that it moves.
    pub payload_bytes: u64,
    /// The file system of its file.
    pub filesystem: Option<String>,
    /// Data that the caller has walked, in bytes.
    pub bytes: u64,
    /// At home.
    pub home_ns: Option<Ns>,
    /// On another core.
    pub away_ns: Option<Ns>,
}
