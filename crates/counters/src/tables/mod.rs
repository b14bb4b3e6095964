//! Which events are used for the paper's columns (Shimosawa, Hori & Ishikawa) on each CPU: first those of the makers'
//! manuals, then perf's generic ones.
//!
//! A table is a claim; whether an event really counts is for the [self-test](crate::selftest) to decide.

use std::fmt;

use crate::{Column, Event};

mod generations;
mod generic;
mod identity;

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
    let rows = || rows(identity.vendor).filter(|row| row.column == column.name());
    let own = names(identity).into_iter().flat_map(|name| rows().filter(move |row| row.is_of(name)));
    let own = own.map(|row| row.candidate(identity.raw_kind));
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
    match identity.vendor {
        Vendor::Intel => generations::of_intel(identity),
        Vendor::Amd => generations::of_amd(identity).into_iter().collect(),
        Vendor::Arm => vec!["Armv8"],
        Vendor::Other => Vec::new(),
    }
}

/// A row of the maker's events.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// [`Column::name`].
    column: &'static str,
    /// `NAME = CODE`, several with ` + ` between them.
    events: &'static str,
    /// The micro-architectures that have them, or `all`.
    of: &'static str,
}

/// The maker's events, those that are preferred first.
fn rows(vendor: Vendor) -> impl Iterator<Item = Row> {
    let text = match vendor {
        Vendor::Intel => include_str!("events/intel.tsv"),
        Vendor::Amd => include_str!("events/amd.tsv"),
        Vendor::Arm => include_str!("events/arm.tsv"),
        Vendor::Other => "",
    };
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().expect("a row has three fields");
        Row { column: field(), events: field(), of: field() }
    })
}

impl Row {
    fn is_of(&self, name: &str) -> bool {
        self.of == "all" || self.of.split(", ").any(|one| one == name)
    }

    fn candidate(&self, raw_kind: u32) -> Candidate {
        let event = |text: &str| {
            let (name, code) = text.split_once(" = ").expect("an event has a code");
            let (config, config1) = configs(code);
            Event { name: name.to_owned(), kind: raw_kind, config, config1 }
        };
        Candidate { events: self.events.split(" + ").map(event).collect() }
    }
}

const ANY_THREAD: u64 = 1 << 21;
const INVERT: u64 = 1 << 23;

/// `perf_event_attr`'s `config` and `config1` of a code as [`code`] writes it: the event's number (up to 12 bits; Intel
/// has 8) and unit mask, and `any` thread of the core, `inv` and `cmask` for cycles with fewer events, `config1`.
fn configs(code: &str) -> (u64, u64) {
    let mut words = code.split(' ');
    let number = |text: &str| {
        let number = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
        number.expect("a code is made of numbers")
    };
    let (event, unit_mask) =
        words.next().map(|word| word.split_once('/').unwrap_or((word, "0"))).expect("a code");
    let (event, unit_mask) = (number(event), u64::from_str_radix(unit_mask, 16).expect("a unit mask"));
    let mut configs = (event & 0xff | unit_mask << 8 | (event >> 8 & 0xf) << 32, 0);
    for word in words {
        match word.split_once('=') {
            Some(("cmask", least)) => configs.0 |= number(least) << 24,
            Some(("config1", value)) => configs.1 = number(value),
            None if word == "any" => configs.0 |= ANY_THREAD,
            None if word == "inv" => configs.0 |= INVERT,
            _ => panic!("a code has no {word}"),
        }
    }
    configs
}

#[cfg(test)]
mod tests;
