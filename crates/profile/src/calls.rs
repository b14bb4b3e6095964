//! What a call costs and evicts: section `calls`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::counters::of_counts;
use crate::rest::{KeepRest, Rest, keeps_rest, keeps_unknown};
use crate::section::{Column, Figures, Section, given, lower, neither, parameters};
use crate::{Affinity, Assignment, Channel, Counts, Estimate, Footprint, Method, footprint};

/// System, libc and MPI calls: their events cold and warm, and the damage to the caller's caches (Shimosawa, Hori &
/// Ishikawa).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Calls {
    /// What the figures rest on.
    pub method: CallMethod,
    /// Parameters of the run, and what was not available.
    pub conditions: Method,
    /// One row for each call, state, side and form.
    pub calls: Vec<Call>,
    /// What it costs the caller to walk its working set again after a call.
    pub damage: Vec<Damage>,
    /// How the timing method maps evicted lines to lines used, measured here with victims of known size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<Calibration>,
    /// What each call costs by what its caller has used of its caches, at home and on another core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub footprint: Vec<Footprint>,
    /// What it takes to have another core do something: the nearest and the farthest of those measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channel: Vec<Channel>,
    /// What a call takes on a host by what that did before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affinity: Vec<Affinity>,
    /// Several hosts, each for some functions or for some callers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<Assignment>,
    /// How `footprint`, `channel`, `affinity` and `assignments` were measured, and what of them was not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint_conditions: Option<Method>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Calls);

impl Calls {
    /// Takes over the calls of an earlier section, with what they rest on, where this one measured some of them only, beside
    /// its curves: the rows of one section share their conditions. Returns whether it did.
    pub fn keep_calls_of(&mut self, earlier: Option<&Self>) -> bool {
        let lacks = |call: &Call| self.calls.iter().all(|mine| mine.name != call.name);
        let is_of_curves = self.footprint_conditions.is_some();
        let Some(earlier) = earlier.filter(|earlier| is_of_curves && earlier.calls.iter().any(lacks)) else {
            return false;
        };
        self.method = earlier.method;
        self.conditions.clone_from(&earlier.conditions);
        self.calls.clone_from(&earlier.calls);
        self.damage.clone_from(&earlier.damage);
        self.calibration.clone_from(&earlier.calibration);
        true
    }

    /// Takes over the curves of an earlier section, with what explains them, unless this one has its own: calls are measured
    /// more often than their curves.
    pub fn keep_curves_of(&mut self, earlier: Option<&Self>) {
        let has_none = self.footprint.is_empty() && self.channel.is_empty();
        let Some(earlier) = earlier.filter(|_| self.footprint_conditions.is_none() || has_none) else {
            return;
        };
        self.footprint.clone_from(&earlier.footprint);
        self.channel.clone_from(&earlier.channel);
        self.affinity.clone_from(&earlier.affinity);
        self.assignments.clone_from(&earlier.assignments);
        self.footprint_conditions.clone_from(&earlier.footprint_conditions);
    }
}

/// What the figures rest on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallMethod {
    /// Performance counters.
    Pmu,
    /// Prime and probe by time, without a counter.
    #[default]
    Timing,
}

/// Caches before the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// Cleared: 64 KiB of nops executed, at least 64 MiB walked and twice the last-level cache.
    Cold,
    /// As a cold call just before left them: what Shimosawa, Hori & Ishikawa call warm.
    Second,
    /// As many calls before left them: the steady state of a loop.
    #[default]
    Warm,
}

/// Where the events happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// In user mode.
    User,
    /// In the kernel.
    Kernel,
    /// Not distinguished: the timing method sees both together.
    #[default]
    Both,
}

/// One call in one state, seen from one side. Figures are per call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
#[allow(non_snake_case)]
pub struct Call {
    /// The call: `getpid`, `read(4096)`.
    pub name: String,
    /// `syscalls`, `libc`, `mpi` or `extra`.
    pub set: String,
    /// Caches before the call.
    pub state: CacheState,
    /// Where the events happened.
    pub side: Side,
    /// Whether it went through the C library's function; otherwise the instruction stands in the measured loop.
    pub wrapped: bool,
    /// The events: L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub counts: Counts,
    /// Cycles per instruction.
    pub CPI: Option<Estimate>,
    /// Whether CYCLE and CPI are the time by the measured clock rather than counted: of a call that stays in user mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_clock: bool,
    /// Time, in ns; on one side alone only where a counter of that side's cycles gives it.
    pub ns: Option<Estimate>,
    /// Lines of code that user mode executed, by single steps: exact, without a counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_lines: Option<u64>,
    /// Lines of data that user mode touched, by single steps: exact, without a counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_lines: Option<u64>,
    /// Data lines that the call itself uses in the level-1 cache, estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint_lines: Option<Estimate>,
}

/// The events stand among its own fields.
impl KeepRest for Call {
    fn with_rest(self, rest: Rest) -> Result<Self, serde_json::Error> {
        let counts = Counts::deserialize(Value::Object(rest.into_iter().collect()))?;
        Ok(Self { counts, ..self })
    }
}

keeps_rest!(Call);

/// What walking a working set again costs after a call, more than without one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Damage {
    /// The call.
    pub name: String,
    /// Size of the working set, in bytes.
    pub set_bytes: u64,
    /// Lines that are no longer where they were: by counter, or the extra time over a miss's penalty.
    pub lines: Option<Estimate>,
    /// Extra time of the walk, in ns.
    pub ns: Option<Estimate>,
}

/// A victim of known size and what it was seen to evict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Calibration {
    /// Lines that the victim touched, at random places.
    pub lines: u64,
    /// Lines of the primed set that it evicted.
    pub evicted: Option<Estimate>,
}

const CALLS: &[Column<Call>] = &[
    lower("calls.time", "time of a call", "ns", |call: &Call| given(&call.ns)).headline(),
    lower("calls.CPI", "cycles per instruction of a call", "cycles", |call| given(&call.CPI)),
    lower("calls.data-lines", "data lines that a call uses in the level-1 cache", "lines", |call| {
        given(&call.footprint_lines)
    }),
];
const EVENTS: &[Column<Call>] = of_counts!("calls", Call, |call| &call.counts);
const DAMAGE: &[Column<Damage>] = &[
    lower("calls.damage", "walking a working set again after a call", "ns", |damage| given(&damage.ns)),
    lower("calls.damage.lines", "lines of a working set that a call evicts", "lines", |damage| {
        given(&damage.lines)
    }),
];
const CALIBRATION: &[Column<Calibration>] =
    &[neither("calls.calibration", "lines that a victim of known size evicts", "lines", |one| {
        given(&one.evicted)
    })];

impl Section for Calls {
    fn method(&self) -> Option<&Method> {
        Some(&self.conditions)
    }

    fn parts(&self) -> Vec<(String, &Method)> {
        self.footprint_conditions.iter().map(|method| ("curves".to_owned(), method)).collect()
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let calls =
            || self.calls.iter().map(|call| (parameters![call; name, set, state, side, wrapped], call));
        all.rows(CALLS, calls());
        all.rows(EVENTS, calls());
        all.rows(DAMAGE, self.damage.iter().map(|damage| (parameters![damage; name, set_bytes], damage)));
        all.rows(CALIBRATION, self.calibration.iter().map(|one| (parameters![one; lines], one)));
        footprint::figures(self, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(names: &[&str], duration_s: f64) -> Calls {
        let call = |name: &&str| Call { name: (*name).into(), ..Call::default() };
        let conditions = Method { duration_s, ..Method::default() };
        Calls { calls: names.iter().map(call).collect(), conditions, ..Calls::default() }
    }

    #[test]
    fn curves_of_some_calls_do_not_replace_more_calls() {
        let before = run(&["getpid", "sprintf"], 1.0);
        let some = Calls { footprint_conditions: Some(Method::default()), ..run(&["getpid"], 2.0) };
        let mut curves = some.clone();
        assert!(curves.keep_calls_of(Some(&before)));
        assert_eq!((&curves.calls, curves.conditions.duration_s), (&before.calls, 1.0));
        assert!(curves.footprint_conditions.is_some());
        let all = Calls { footprint_conditions: Some(Method::default()), ..run(&["sprintf", "getpid"], 2.0) };
        for (mut now, earlier) in [(all, Some(&before)), (run(&["getpid"], 2.0), Some(&before)), (some, None)]
        {
            assert!(!now.keep_calls_of(earlier));
            assert_eq!(now.conditions.duration_s, 2.0, "each call once more, no curves, or nothing before");
        }
    }
}
