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
mod prelude;
pub mod programs;
mod ratios;
pub mod topology;
pub mod trials;
pub mod waiting;
pub mod workloads;

use crate::Subject;
use crate::part::Section;

/// A section that a profile may have. `of` returns it, or `None` if the profile lacks it.
struct Entry {
    id: &'static str,
    title: &'static str,
    of: fn(&Subject) -> Option<Section>,
}

impl Entry {
    /// The section, without parts yet.
    fn section(&self, headline: impl Into<String>) -> Section {
        Section::new(self.id, self.title, headline)
    }
}

/// All sections, in the order in which they are shown.
const ALL: &[Entry] = &[
    coherence::ENTRY,
    topology::ENTRY,
    contention::ENTRY,
    barriers::ENTRY,
    programs::ENTRY,
    memory::ENTRY,
    paths::ENTRY,
    calls::ENTRY,
    counters::ENTRY,
    idle::ENTRY,
    workloads::ENTRY,
    trials::ENTRY,
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
