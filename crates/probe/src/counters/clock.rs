//! What is known of the clock.

use std::collections::BTreeMap;

use coho_profile::{ClockFacts, ClockOffset};

use crate::clock::{Clock, Source};
use crate::pin;

/// More CPUs than this are not compared: each takes some ms.
const MOST_CPUS: usize = 64;

/// The clock's facts, with the offsets of all CPUs that the process may use.
pub(super) fn facts(not_available: &mut BTreeMap<String, String>) -> ClockFacts {
    let clock = Clock::get();
    let source = match clock.source() {
        Source::Counter(name) => name.to_owned(),
        Source::System(why) => format!("CLOCK_MONOTONIC_RAW: {why}"),
    };
    let cpus: Vec<u32> = pin::allowed().map(|cpus| cpus.iter().take(MOST_CPUS).collect()).unwrap_or_default();
    let offsets = match clock.offsets(&cpus) {
        Ok(offsets) => offsets,
        Err(why) => {
            not_available.insert("offsets of the CPUs' clocks".into(), why);
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
