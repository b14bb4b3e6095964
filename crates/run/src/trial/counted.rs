//! The events that are counted while a command runs, if they can be.

use std::collections::BTreeMap;

use coho_counters::{Column, Descendants, Event, Mode};

use crate::events::chosen;

/// Events that may be counted here.
pub(super) struct Counted {
    /// A figure's name, and the events that add up to it.
    figures: Vec<(&'static str, Vec<Event>, Mode)>,
    not_available: BTreeMap<String, String>,
}

/// Events open for one run.
pub(super) struct Open(Vec<(&'static str, Vec<Descendants>)>);

impl Counted {
    /// Migrations if the kernel reports them, and cache misses by events that pass their self-test on the CPU.
    pub(super) fn choose(cpu: Option<&u32>) -> Self {
        let mut figures = vec![("migrations", vec![Event::cpu_migrations()], Mode::Both)];
        let mut not_available = BTreeMap::new();
        let misses = [("l2_misses", Column::L2Misses), ("l3_misses", Column::L3Misses)];
        match cpu.map_or_else(
            || Err("no CPU to test events on".into()),
            |&cpu| chosen(cpu, &misses.map(|(_, c)| c)),
        ) {
            Ok(chosen) => {
                for (name, column) in misses {
                    match chosen.get(&column) {
                        Some(events) => figures.push((name, events.clone(), Mode::User)),
                        None => {
                            drop(not_available.insert(name.into(), "no event passed its self-test".into()))
                        }
                    }
                }
            }
            Err(why) => {
                misses.iter().for_each(|(name, _)| drop(not_available.insert((*name).into(), why.clone())))
            }
        }
        Self { figures, not_available }
    }

    /// Why figures are missing.
    pub(super) fn not_available(&self) -> &BTreeMap<String, String> {
        &self.not_available
    }

    /// Opens the counters for the calling thread's next program.
    pub(super) fn open(&self, missing: &mut BTreeMap<String, String>) -> Open {
        let mut open = Vec::new();
        for (name, events, mode) in &self.figures {
            let opened =
                events.iter().map(|event| Descendants::open(event, *mode)).collect::<Result<Vec<_>, _>>();
            match opened {
                Ok(events) => open.push((*name, events)),
                Err(error) => drop(missing.insert((*name).into(), error.to_string())),
            }
        }
        Open(open)
    }
}

impl Open {
    /// The counts; events that were not counted all the time are left out.
    pub(super) fn read(self, missing: &mut BTreeMap<String, String>) -> BTreeMap<&'static str, f64> {
        let mut counts = BTreeMap::new();
        for (name, events) in self.0 {
            match events.iter().map(Descendants::read).sum::<Result<u64, _>>() {
                Ok(count) => drop(counts.insert(name, count as f64)),
                Err(error) => drop(missing.insert(name.into(), error.to_string())),
            }
        }
        counts
    }
}
