//! What idle CPUs do, and how long they take to wake: section `idle`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, lower, parameters};
use crate::{Estimate, Method};

/// Idle states, frequency, and wake-up latency (Kimoto).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Idle {
    /// How it was measured.
    pub method: Method,
    /// The driver that enters idle states, as in `intel_idle`.
    pub driver: Option<String>,
    /// The governor that chooses among them, as in `menu`.
    pub governor: Option<String>,
    /// The states, shallowest first; CPUs with different states have a row for each.
    pub states: Vec<IdleState>,
    /// What sets the clock.
    pub frequency: Frequency,
    /// The longest wake-up latency that any process allows all CPUs, in microseconds.
    pub dma_latency_us: Option<u64>,
    /// The longest wake-up latency allowed on single CPUs, in microseconds, where one is set.
    pub resume_latency_us: BTreeMap<u32, u64>,
    /// How long CPUs took to wake.
    pub wakeups: Vec<Wakeup>,
    /// What can be set, or was set, and the result.
    pub controls: Vec<IdleControl>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Idle);

/// An idle state as its driver describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IdleState {
    /// `POLL`, `C1`, `C6`, … Their numbers differ from CPU to CPU and are not used.
    pub name: String,
    /// The driver's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Time to leave the state, in microseconds.
    pub latency_us: u64,
    /// Shortest stay that pays off, in microseconds.
    pub residency_us: u64,
    /// CPUs that have it.
    pub cpus: Vec<u32>,
    /// Those of them on which the state is disabled.
    pub disabled_on: Vec<u32>,
    /// How often the state was requested since boot, over all of them; the hardware may have refused.
    pub usage: u64,
    /// Time for which the state was requested since boot, over all of them, in microseconds.
    pub time_us: u64,
}

impl Idle {
    /// The latency limit that the kernel reports where none is set, in us: 2000 s.
    pub const UNLIMITED_US: u64 = 2_000_000_000;
}

/// What sets the clock, and within which limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Frequency {
    /// The driver, as in `intel_pstate`.
    pub driver: Option<String>,
    /// CPUs by governor.
    pub governors: BTreeMap<String, Vec<u32>>,
    /// Governors that may be set.
    pub available_governors: Vec<String>,
    /// Whether the clock may rise above the nominal one.
    pub boost: Option<bool>,
    /// Lowest and highest clock that is allowed, over all CPUs, in kHz.
    pub limits_khz: Option<(u64, u64)>,
}

/// How long a CPU took to wake.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Wakeup {
    /// What woke it: `timer`, `futex` or `pipe`.
    pub by: String,
    /// The CPU that slept.
    pub cpu: u32,
    /// The CPU that woke it; absent for a timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// How long it slept, in microseconds: longer sleeps reach deeper states.
    pub slept_us: u64,
    /// Time from the moment it was to wake until its thread ran, in ns.
    pub ns: Option<Estimate>,
    /// What was set meanwhile, as in `C6 disabled`; absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// Something that can be set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IdleControl {
    /// `idle states`, `latency limit`, `governor`, or what was set: `C6 disabled`.
    pub name: String,
    /// `available`, `set and verified: …`, `set, not verifiable: …` or `not available: …`.
    pub status: String,
}

const WAKEUPS: &[Column<Wakeup>] =
    &[lower("idle.wakeup", "time until a sleeping CPU's thread runs", "ns", |wakeup| given(&wakeup.ns))];

impl Section for Idle {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let woken = self.wakeups.iter().flat_map(|wakeup| [Some(wakeup.cpu), wakeup.from]).flatten();
        let states =
            self.states.iter().flat_map(|state| state.cpus.iter().chain(&state.disabled_on)).copied();
        let governed = self.frequency.governors.values().flatten().copied();
        Box::new(woken.chain(states).chain(governed).chain(self.resume_latency_us.keys().copied()))
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let wakeups = self.wakeups.iter();
        all.rows(WAKEUPS, wakeups.map(|row| (parameters![row; by, cpu, from, slept_us, under], row)));
    }
}
