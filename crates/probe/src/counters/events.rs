//! Which events count correctly on this CPU.

use std::collections::BTreeMap;

use coho_counters::Column;
use coho_counters::selftest::{self, EventSet};
use coho_counters::tables::Candidate;
use coho_profile::EventTest;

/// The events that are used for the columns, and every event's test, or why there is none.
pub(super) fn choose(
    not_available: &mut BTreeMap<String, String>,
) -> (BTreeMap<Column, Candidate>, Vec<EventTest>) {
    let EventSet { chosen, tests, .. } = match selftest::choose(&Column::ALL) {
        Ok(set) => set,
        Err(error) => {
            not_available.insert("self-test of events".into(), error.to_string());
            return Default::default();
        }
    };
    let tests = tests
        .into_iter()
        .map(|test| EventTest {
            name: test.column.name().into(),
            event: test.candidate.to_string(),
            passed: test.verdict.passed,
            chosen: test.chosen,
            why: test.verdict.why,
        })
        .collect();
    (chosen, tests)
}
