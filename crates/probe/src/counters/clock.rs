//! Facts about the clock.

use std::collections::BTreeMap;

use coho_profile::{ClockFacts, ClockOffset};
use coho_topology::CpuSet;

use crate::clock::{Clock, Source};

/// More CPUs than this are not compared: each takes some ms.
pub(super) const MOST_CPUS: usize = 64;
/// What is reported as missing if they cannot be compared.
pub(super) const OFFSETS: &str = "offsets of the CPUs' clocks";

/// The clock's facts, with the offsets of the CPUs that the process may use.
pub(super) fn facts(allowed: &CpuSet, not_available: &mut BTreeMap<String, String>) -> ClockFacts {
    let clock = Clock::get();
    let source = match clock.source() {
        Source::Counter(name) => name.to_owned(),
        Source::System(why) => format!("CLOCK_MONOTONIC_RAW: {why}"),
    };
    let cpus: Vec<u32> = allowed.iter().take(MOST_CPUS).collect();
    let offsets = match clock.offsets(&cpus) {
        Ok(offsets) => offsets,
        Err(why) => {
            not_available.insert(OFFSETS.into(), why.to_string());
            Vec::new()
        }
    };
    let offset = |(&cpu, offset): (&u32, &coho_counters::clock::Offset)| ClockOffset {
        cpu,
        ns: offset.ns,
        uncertainty_ns: offset.uncertainty_ns,
    };
    ClockFacts {
        source,
        ghz: clock.counter_ghz(),
        step_ns: clock.step_ns(),
        invariant: Some(Clock::invariant()),
        offsets: cpus.iter().zip(&offsets).map(offset).collect(),
    }
}
