//! A file for each section of the profile: the only place that knows what of it is worth showing.

pub mod barriers;
pub mod calls;
pub mod coherence;
pub mod contention;
pub mod counters;
pub mod idle;
mod lines;
pub mod loaded;
pub mod machine;
pub mod memory;
mod method;
pub mod network;
pub mod papers;
pub mod paths;
pub mod placement;
pub mod predictions;
mod prelude;
pub mod programs;
mod ratios;
pub mod share;
pub mod topology;
pub mod trials;
pub mod waiting;
pub mod workloads;

use coho_profile::published::Paper;

use crate::Subject;
use crate::part::{Body, Section};

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
    loaded::ENTRY,
    paths::ENTRY,
    calls::ENTRY,
    counters::ENTRY,
    idle::ENTRY,
    workloads::ENTRY,
    trials::ENTRY,
    share::ENTRY,
    network::ENTRY,
];

/// The sections that a profile has.
pub fn of(subject: &Subject) -> Vec<Section> {
    let mut sections: Vec<Section> = ALL.iter().filter_map(|entry| (entry.of)(subject)).collect();
    if let Some(paper) = subject.paper() {
        mark_ours(&mut sections, paper);
    }
    sections
}

/// Says below a paper's tables what of them the paper does not print.
fn mark_ours(sections: &mut [Section], paper: &Paper) {
    for part in sections.iter_mut().flat_map(|section| &mut section.parts) {
        if let Body::Table(table) = &mut part.body {
            table.notes.extend(paper.ours.get(&table.id).cloned());
        }
    }
}

/// The titles of those that are not among a profile's sections. A machine has no network of a job's nodes, which has none
/// of a machine's.
pub fn missing(present: &[Section]) -> Vec<&'static str> {
    if present.iter().any(|section| section.id == network::ENTRY.id) {
        return Vec::new();
    }
    let of_machine = ALL.iter().filter(|entry| entry.id != network::ENTRY.id);
    let absent = of_machine.filter(|entry| present.iter().all(|section| section.id != entry.id));
    absent.map(|entry| entry.title).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::published::PAPERS;

    use super::*;

    #[test]
    fn what_a_paper_does_not_print_is_said_below_the_table_that_has_it() {
        for paper in PAPERS.iter() {
            let machines = Subject::of_publication(paper.publication());
            let parts = machines.iter().flat_map(|machine| of(&machine.clone().answered()));
            let parts: Vec<_> = parts.flat_map(|section| section.parts).collect();
            for (id, note) in &paper.ours {
                let has_note = |body: &Body| match body {
                    Body::Table(table) => table.id == *id && table.notes.contains(note),
                    _ => false,
                };
                assert!(parts.iter().any(|part| has_note(&part.body)), "{}: {id}", paper.name);
            }
        }
    }
}
