//! What the tests of several sections need: a section's text, its parts by kind and its figures by key.

use coho_profile::{Estimate, ForkJoinTime, KernelPoint};

use crate::chart::Chart;
use crate::part::{Body, Depth, Missing, Part, Section, Table};
use crate::render::terminal::{self, Colours, Options};

/// A fork and join of this total time, in ns; `by` names what starts and ends the region.
pub fn region(algorithm: &str, by: &str, threads: u32, mapping: &str, ns: f64) -> ForkJoinTime {
    ForkJoinTime {
        algorithm: algorithm.into(),
        by: by.into(),
        threads,
        mapping: mapping.into(),
        total_ns: Some(Estimate::exact(ns)),
        ..ForkJoinTime::default()
    }
}

/// A run of a program on four threads: its problem size, its seconds, and how many of them it waited.
pub fn run(barrier: &str, size: u64, seconds: f64, waiting: f64) -> KernelPoint {
    KernelPoint {
        size: Some(size),
        threads: 4,
        barrier: barrier.into(),
        seconds: Some(Estimate::exact(seconds)),
        sync_seconds: Some(Estimate::exact(waiting)),
        ..KernelPoint::default()
    }
}

/// What a terminal without colours shows of a section.
pub fn text(section: &Section, depth: Depth) -> String {
    let mut out = Vec::new();
    terminal::parts(&mut out, &section.parts, Options { depth, colours: Colours::None }).unwrap();
    String::from_utf8(out).unwrap()
}

/// A section of these parts.
pub fn section(parts: Vec<Part>) -> Section {
    Section { parts, ..Section::new("x", "X", "") }
}

macro_rules! of_kind {
    ($($name:ident: $kind:ident),+) => {$(
        /// The section's parts of this kind.
        pub fn $name(section: &Section) -> Vec<&$kind> {
            let bodies = section.parts.iter().map(|part| &part.body);
            bodies.filter_map(|body| if let Body::$kind(of_kind) = body { Some(of_kind) } else { None }).collect()
        }
    )+};
}
of_kind!(tables: Table, charts: Chart, missing: Missing);

/// The keys of a table's rows.
pub fn keys(table: &Table) -> Vec<&str> {
    table.rows.iter().map(|row| row.key.as_ref().unwrap().id.as_str()).collect()
}

/// The figures that `compare` knows, by their keys.
pub fn figures(section: &Section) -> Vec<(String, f64)> {
    let figures = tables(section).into_iter().flat_map(Table::compared);
    figures.map(|(id, _, _, figure)| (id, figure.value)).collect()
}
