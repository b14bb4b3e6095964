//! Events that count correctly on a CPU.

use std::collections::BTreeMap;

use coho_counters::{Column, Counter, Error, Event, Mode, selftest};
use coho_platform::{pin, threads};

/// The events that stand for the columns, by the self-test on this CPU.
pub(crate) fn chosen(cpu: u32, columns: &[Column]) -> Result<BTreeMap<Column, Vec<Event>>, String> {
    // If there is no counter at all, the self-tests are not set up.
    let tried = Counter::open(&Event::cycles(), Mode::User);
    if let Err(error @ (Error::NoCounters | Error::NotPermitted { .. })) = tried {
        return Err(error.to_string());
    }
    let columns = columns.to_vec();
    let test = move || {
        pin::to(cpu).map_err(|error| error.to_string())?;
        let set = selftest::choose(&columns).map_err(|error| error.to_string())?;
        Ok(set.chosen.into_iter().map(|(column, candidate)| (column, candidate.events)).collect())
    };
    threads::apart(test).unwrap_or_else(|error| Err(format!("a thread to test counters on: {error}")))
}
