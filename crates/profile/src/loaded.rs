//! Latency while other CPUs move data: section `loaded`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, higher, lower, parameters};
use crate::{Estimate, Method};

/// What a load of one CPU takes while the others move data, by how much they move.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Loaded {
    /// How it was measured.
    pub method: Method,
    /// A row for each reader, memory node, kind of traffic and pause.
    pub rows: Vec<LoadedRow>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Loaded);

/// What the other CPUs do, by what reaches memory: a store fetches its line and writes it back, unless it goes past the
/// caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Nothing.
    #[default]
    None,
    /// They load.
    Read,
    /// Two loads for each store: three lines are read for each that is written.
    ThreeToOne,
    /// A load for each store: two lines are read for each that is written.
    TwoToOne,
    /// They store: each line is read and written.
    OneToOne,
    /// They store past the caches: lines are only written.
    NonTemporal,
}

impl Traffic {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Read, Self::ThreeToOne, Self::TwoToOne, Self::OneToOne, Self::NonTemporal];

    /// Its name in profiles and on the command line.
    ///
    /// ```
    /// assert_eq!(coho_profile::Traffic::TwoToOne.name(), "two-to-one");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::ThreeToOne => "three-to-one",
            Self::TwoToOne => "two-to-one",
            Self::OneToOne => "one-to-one",
            Self::NonTemporal => "non-temporal",
        }
    }

    /// For people: lines read to lines written.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Read => "reads",
            Self::ThreeToOne => "3 reads : 1 write",
            Self::TwoToOne => "2 reads : 1 write",
            Self::OneToOne => "1 read : 1 write",
            Self::NonTemporal => "non-temporal writes",
        }
    }

    /// Loads for each store of a line, and stores.
    pub fn mix(self) -> (usize, usize) {
        match self {
            Self::None => (0, 0),
            Self::Read => (1, 0),
            Self::ThreeToOne => (2, 1),
            Self::TwoToOne => (1, 1),
            Self::OneToOne | Self::NonTemporal => (0, 1),
        }
    }

    /// Lines that reach memory, read or written, for each line that a store covers.
    pub fn lines_per_store(self) -> usize {
        if self == Self::NonTemporal { 1 } else { 2 }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One reader under one load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LoadedRow {
    /// The CPU whose loads are timed.
    pub reader: u32,
    /// The node of all memory used, if the machine has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Bytes of the lines that it visits.
    pub bytes: u64,
    /// What the other CPUs do.
    pub traffic: Traffic,
    /// How many others there are.
    pub threads: u32,
    /// With which instructions; empty if they do nothing.
    pub instruction: String,
    /// The pause of each of them after every KiB, in ns.
    pub pause_ns: f64,
    /// What they moved to and from memory meanwhile, in bytes per second: lines that stores fetched and wrote back count
    /// twice.
    pub bytes_per_s: Option<Estimate>,
    /// Time of one load, in ns.
    pub latency_ns: Option<Estimate>,
}

const ROWS: &[Column<LoadedRow>] = &[
    lower("loaded.latency", "load while other CPUs move data", "ns", |row: &LoadedRow| {
        given(&row.latency_ns)
    })
    .headline(),
    higher("loaded.rate", "what the other CPUs move meanwhile", "bytes/s", |row| given(&row.bytes_per_s)),
];

impl Section for Loaded {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.rows.iter().map(|row| row.reader))
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let rows = self.rows.iter();
        all.rows(ROWS, rows.map(|row| (parameters![row; reader, node, traffic, threads, pause_ns], row)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn rows_follow_the_schema_and_are_read_as_they_were_written() {
        let row = |traffic: Traffic| LoadedRow {
            traffic,
            threads: 3,
            instruction: "avx2".into(),
            pause_ns: 200.0,
            bytes_per_s: (traffic != Traffic::None).then(|| Estimate::exact(1e10)),
            latency_ns: Some(Estimate::exact(120.0)),
            ..LoadedRow::default()
        };
        let loaded = Loaded { rows: Traffic::ALL.map(row).to_vec(), ..Loaded::default() };
        let profile = Profile { loaded: Some(loaded), ..Profile::default() };
        let value = serde_json::to_value(&profile).unwrap();
        jsonschema::validate(&serde_json::from_str(Profile::JSON_SCHEMA).unwrap(), &value).unwrap();
        let rows = value["loaded"]["rows"].as_array().unwrap().iter();
        assert!(rows.map(|row| &row["traffic"]).eq(Traffic::ALL.map(Traffic::name)));
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
    }
}
