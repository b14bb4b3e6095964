//! Which events are used for the paper's columns (Shimosawa, Hori & Ishikawa) on each CPU: first those of the makers'
//! manuals, then perf's generic ones.
//!
//! A table is a claim; whether an event really counts is for the [self-test](crate::selftest) to decide.

use std::fmt;

use crate::{Column, Event};

mod amd;
mod arm;
mod generic;
mod identity;
mod intel;

pub use identity::{Identity, Vendor};

/// `perf_event_attr.type` of events in the form of the CPU's own event-select register.
pub(crate) const PERF_TYPE_RAW: u32 = 4;

/// Events whose counts, added up, stand for a column: usually one, but loads and stores if the CPU counts them
/// separately.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// At least one.
    pub events: Vec<Event>,
}

impl From<Event> for Candidate {
    fn from(event: Event) -> Self {
        Self { events: vec![event] }
    }
}

impl fmt::Display for Candidate {
    /// Names and codes as the manuals write them: `LS_DC_ACCESSES (0x40)`, `A (0xd0/81) + B (0xd0/82)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, event) in self.events.iter().enumerate() {
            if i > 0 {
                f.write_str(" + ")?;
            }
            f.write_str(&event.name)?;
            if !generic::is_generic(event.kind) {
                write!(f, " ({})", code(event))?;
            }
        }
        Ok(())
    }
}

/// The code of a raw event: event, unit mask, modifiers.
fn code(event: &Event) -> String {
    let config = event.config;
    let mut text = format!("{:#x}", config & 0xff | config >> 24 & 0xf00);
    let unit_mask = config >> 8 & 0xff;
    if unit_mask != 0 {
        text += &format!("/{unit_mask:02x}");
    }
    if config & INVERT != 0 {
        text += " inv";
    }
    let threshold = config >> 24 & 0xff;
    if threshold != 0 {
        text += &format!(" cmask={threshold}");
    }
    if event.config1 != 0 {
        text += &format!(" config1={:#x}", event.config1);
    }
    text
}

/// The candidates for `column` on the CPU `identity`, the best first; at the end perf's generic events, which the
/// kernel translates for the CPU.
///
/// ```
/// use coho_counters::{Column, tables::{Identity, candidates}};
///
/// for candidate in candidates(&Identity::here(), Column::L1dMisses) {
///     println!("{candidate}");
/// }
/// ```
pub fn candidates(identity: &Identity, column: Column) -> Vec<Candidate> {
    let raw = |term: &Term| Event {
        name: term.name.to_owned(),
        kind: identity.raw_kind,
        config: term.config,
        config1: term.config1,
    };
    let own = microarchitectures(identity)
        .into_iter()
        .flat_map(|microarchitecture| microarchitecture.entries)
        .filter(|entry| entry.column == column)
        .map(|entry| Candidate { events: entry.terms.iter().map(raw).collect() });
    let mut all: Vec<Candidate> = Vec::new();
    for candidate in own.chain(generic::candidates(identity, column)) {
        // Neighbouring generations share most of their events.
        if !all.contains(&candidate) {
            all.push(candidate);
        }
    }
    all
}

/// Names of the micro-architectures whose tables apply; none for an unknown CPU, two if the CPU's identity
/// [contradicts](Identity::contradiction) itself.
pub fn names(identity: &Identity) -> Vec<&'static str> {
    microarchitectures(identity).into_iter().map(|microarchitecture| microarchitecture.name).collect()
}

fn microarchitectures(identity: &Identity) -> Vec<&'static Microarchitecture> {
    match identity.vendor {
        Vendor::Intel => intel::microarchitectures(identity),
        Vendor::Amd => amd::microarchitecture(identity).into_iter().collect(),
        Vendor::Arm => vec![&arm::ARMV8],
        Vendor::Other => Vec::new(),
    }
}

/// A generation of CPU cores with the same events.
#[derive(Debug)]
struct Microarchitecture {
    name: &'static str,
    /// In order of preference within each column.
    entries: &'static [Entry],
}

/// One candidate of one column.
#[derive(Debug, Clone, Copy)]
struct Entry {
    column: Column,
    terms: &'static [Term],
}

const fn entry(column: Column, terms: &'static [Term]) -> Entry {
    Entry { column, terms }
}

/// An event as in the maker's manual.
#[derive(Debug, Clone, Copy)]
struct Term {
    name: &'static str,
    config: u64,
    config1: u64,
}

const ANY_THREAD: u64 = 1 << 21;
const INVERT: u64 = 1 << 23;
const THRESHOLD_ONE: u64 = 1 << 24;

impl Term {
    /// An x86 event by event number (up to 12 bits; Intel has 8) and unit mask.
    const fn x86(name: &'static str, event: u64, unit_mask: u64) -> Self {
        Self { name, config: event & 0xff | unit_mask << 8 | (event >> 8 & 0xf) << 32, config1: 0 }
    }

    /// Cycles without the event: a threshold of one, inverted.
    const fn absent(mut self) -> Self {
        self.config |= INVERT | THRESHOLD_ONE;
        self
    }

    /// Counts for either thread of the core.
    const fn any_thread(mut self) -> Self {
        self.config |= ANY_THREAD;
        self
    }

    const fn with_config1(mut self, config1: u64) -> Self {
        self.config1 = config1;
        self
    }
}

#[cfg(test)]
mod tests;
