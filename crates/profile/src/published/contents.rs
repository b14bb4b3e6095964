//! What a paper holds: its tables, figures and systems in its order, and what of a profile stands beside each.
//!
//! The `contents.toml` of a paper's folder lists them. An entry that prints numbers names the keys of the figures that
//! repeat them, so that a table is rows and keys, and no code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::section::Figure;

/// A paper's tables, figures and systems.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// How many it has of each kind.
    pub counts: Counts,
    /// They, in the paper's order.
    #[serde(rename = "entry")]
    pub entries: Vec<Entry>,
}

/// How many tables, figures and systems a paper has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Its tables.
    pub tables: usize,
    /// Its figures.
    pub figures: usize,
    /// The machines that it measured on, and what it built.
    pub systems: usize,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A table.
    Table,
    /// A figure.
    Figure,
    /// A machine that the paper measured on, or what it built.
    System,
}

impl Kind {
    /// As in JSON: `table`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Figure => "figure",
            Self::System => "system",
        }
    }
}

/// A table, a figure or a system.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// As the paper numbers it, or a system's short name.
    pub number: String,
    /// Where it stands: `p. 2-7`, or a section where the surviving text has no pages.
    pub place: String,
    /// What it shows, in few words.
    pub caption: String,
    /// The command that repeats it.
    pub command: String,
    /// The figures or sections of a profile of which any one says that it was measured.
    pub measured: Vec<Which>,
    /// Without which it cannot be measured.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Without which only a part of it can be measured.
    #[serde(default)]
    pub in_full: Vec<Need>,
    /// Names of the parts that show it for a profile. A name that ends in a dash stands for all that begin with it.
    #[serde(default)]
    pub view: Vec<String>,
    /// Short name of the machine whose profile holds its figures; by default the paper's first.
    #[serde(default)]
    pub machine: String,
    /// Its printed figures: columns over the rows that have them.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// Whether its view leaves out some of these, so that they are shown even if it stands beside what was measured.
    #[serde(default)]
    pub rows_too: bool,
    /// Tables of [`Paper::figures`](super::Paper::figures) with more of its printed figures.
    #[serde(default)]
    pub printed: Vec<String>,
    /// What it draws, where that is no measurement: boxes, each with its name before what lies in it.
    #[serde(default)]
    pub drawn: Vec<Vec<String>>,
    /// What it says in words: names and what stands there.
    #[serde(default)]
    pub facts: Vec<(String, String)>,
    /// What of it is at hand nowhere, and why.
    pub absent: Option<String>,
}

impl Entry {
    /// `Table 4-1`, `Fig. 7`, or a system's name.
    pub fn name(&self) -> String {
        match self.kind {
            Kind::Table => format!("Table {}", self.number),
            Kind::Figure => format!("Fig. {}", self.number),
            Kind::System => self.number.clone(),
        }
    }
}

/// Figures of one quantity.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Which {
    /// The quantity's key, or the name of a section.
    pub key: String,
    /// Parameters that they have, with these values.
    #[serde(flatten)]
    pub of: BTreeMap<String, String>,
}

impl Which {
    /// Whether this is one of them.
    pub fn is(&self, figure: &Figure<'_>) -> bool {
        let has = |(name, value): (&String, &String)| figure.parameter(name) == Some(value);
        figure.quantity.key == self.key && self.of.iter().all(has)
    }
}

/// A column of printed figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// What stands above it.
    pub name: String,
    /// The unit in which the paper prints it.
    #[serde(default)]
    pub unit: String,
    /// What a figure is multiplied by to come to that unit.
    #[serde(default = "one")]
    pub times: f64,
    /// With how many decimals the paper prints it.
    #[serde(default)]
    pub decimals: usize,
    /// Its figures.
    pub of: Vec<Which>,
}

fn one() -> f64 {
    1.0
}

/// What a machine must have for an entry to be measured on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Two CPUs.
    TwoCpus,
    /// CPUs on which sequential and binary-tree mapping place a team differently.
    Mappings,
    /// Several packages: a hop leads from one to another.
    Packages,
    /// Performance counters that the process may use.
    Counters,
    /// An MPI.
    Mpi,
    /// A driver or a kernel module that provides write-combining or uncached memory.
    MemoryTypes,
    /// An engine other than a CPU that copies memory.
    Dma,
    /// Network interfaces of the paper's kinds.
    Nics,
    /// A right to switch idle states off.
    IdleStates,
    /// FreeBSD's kernel.
    FreeBsd,
    /// A kernel module of ours, for an instruction that user mode may not execute.
    KernelModule,
}

impl Need {
    /// What is needed: `several packages`.
    pub fn words(self) -> &'static str {
        match self {
            Self::TwoCpus => "two CPUs",
            Self::Mappings => "CPUs that the mappings take differently",
            Self::Packages => "several packages",
            Self::Counters => "performance counters",
            Self::Mpi => "an MPI",
            Self::MemoryTypes => "write-combining or uncached memory",
            Self::Dma => "an engine that copies memory",
            Self::Nics => "the paper's network interfaces",
            Self::IdleStates => "a right to switch idle states off",
            Self::FreeBsd => "FreeBSD's kernel",
            Self::KernelModule => "coho's kernel module",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::published::{PAPERS, repeated};
    use crate::{Profile, SECTIONS};

    use super::*;

    /// The number as chapter and position: (4, 1) for `4-1`, (0, 7) for `7`.
    fn numbered(number: &str) -> (u32, u32) {
        let (chapter, place) = number.split_once('-').unwrap_or(("0", number));
        (chapter.parse().unwrap(), place.parse().unwrap())
    }

    #[test]
    fn no_number_is_left_out_and_none_is_in_disorder() {
        assert!(repeated().count() >= 5);
        for paper in PAPERS.iter() {
            let Contents { counts, entries } = &paper.contents;
            let of = |kind| entries.iter().filter(move |entry| entry.kind == kind);
            let found = [Kind::Table, Kind::Figure, Kind::System].map(|kind| of(kind).count());
            assert_eq!(found, [counts.tables, counts.figures, counts.systems], "{}", paper.name);
            for kind in [Kind::Table, Kind::Figure] {
                let mut last = (0, 0);
                for (chapter, place) in of(kind).map(|entry| numbered(&entry.number)) {
                    let follows = match chapter == last.0 {
                        // Kawabe & Furuya have two figures 6.
                        true => place == last.1 + 1 || place == last.1,
                        false => chapter > last.0 && place == 1,
                    };
                    assert!(follows, "{} {kind:?} {chapter}-{place} after {last:?}", paper.name);
                    last = (chapter, place);
                }
            }
        }
    }

    #[test]
    fn every_key_is_a_quantitys_or_a_sections() {
        let known: Vec<&str> = SECTIONS
            .iter()
            .flat_map(|section| (section.quantities)().into_iter().map(|one| one.key).chain([section.name]))
            .collect();
        for (paper, entry) in
            PAPERS.iter().flat_map(|paper| paper.contents.entries.iter().map(move |one| (paper, one)))
        {
            let columns = entry.columns.iter().flat_map(|column| &column.of);
            for which in entry.measured.iter().chain(columns) {
                assert!(
                    known.contains(&which.key.as_str()),
                    "{} {}: {}",
                    paper.name,
                    entry.name(),
                    which.key
                );
            }
            assert!(!entry.measured.is_empty() || entry.needs.contains(&Need::Nics), "{}", entry.name());
        }
    }

    #[test]
    fn every_entry_has_what_the_paper_shows_or_says_why_not() {
        for paper in PAPERS.iter() {
            for entry in &paper.contents.entries {
                let profile: Profile = paper.machine_named(&entry.machine);
                let figures = profile.figures();
                for column in &entry.columns {
                    for which in &column.of {
                        let found = figures.iter().any(|figure| which.is(figure));
                        assert!(found, "{} {}: no {}", paper.name, entry.name(), which.key);
                    }
                }
                assert!(
                    entry.printed.iter().all(|table| paper.figures.contains_key(table)),
                    "{}",
                    entry.name()
                );
                let shown = entry.columns.len() + entry.printed.len() + entry.facts.len() + entry.view.len();
                assert!(shown > 0 || entry.absent.is_some(), "{} {}", paper.name, entry.name());
            }
        }
    }
}
