//! A file for each section of the profile: the only place that knows what of it is worth showing.

pub mod barriers;
pub mod calls;
pub mod coherence;
pub mod contention;
pub mod counters;
pub mod idle;
pub mod machine;
pub mod memory;
mod method;
pub mod papers;
pub mod paths;
pub mod placement;
pub mod predictions;
pub mod programs;
mod ratios;
pub mod topology;
pub mod trials;
pub mod waiting;
pub mod workloads;

use crate::Subject;
use crate::part::Section;

/// A section that a profile may have.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// As [`Section::id`].
    pub id: &'static str,
    /// As [`Section::title`].
    pub title: &'static str,
    /// What there is to show of it; `None` if the profile does not have it.
    pub of: fn(&Subject) -> Option<Section>,
}

/// All sections, in the order in which they are shown.
pub const ALL: &[Entry] = &[
    Entry { id: "coherence", title: "Sharing a cache line", of: coherence::section },
    Entry { id: "topology", title: "The machine", of: topology::section },
    Entry { id: "contention", title: "Many CPUs on one line", of: contention::section },
    Entry { id: "barriers", title: "Barriers, fork and join", of: barriers::section },
    Entry { id: "programs", title: "Programs under barriers", of: programs::section },
    Entry { id: "memory", title: "Memory", of: memory::section },
    Entry { id: "paths", title: "Messages between processes", of: paths::section },
    Entry { id: "calls", title: "System, libc and MPI calls", of: calls::section },
    Entry { id: "counters", title: "Performance counters and the clock", of: counters::section },
    Entry { id: "idle", title: "Idle states and waking", of: idle::section },
    Entry { id: "workloads", title: "Programs under placements", of: workloads::section },
    Entry { id: "runs", title: "Commands under placements", of: trials::section },
];

/// The sections that a profile has.
pub fn of(subject: &Subject) -> Vec<Section> {
    ALL.iter().filter_map(|entry| (entry.of)(subject)).collect()
}

/// The titles of those that are not among a profile's sections.
pub fn missing(present: &[Section]) -> Vec<&'static str> {
    let absent = ALL.iter().filter(|entry| present.iter().all(|section| section.id != entry.id));
    absent.map(|entry| entry.title).collect()
}
