//! What the tests of several sections need: a section's text, its parts by kind and its figures by key.

use crate::chart::Chart;
use crate::part::{Body, Depth, Missing, Part, Section, Table};
use crate::render::terminal::{self, Colours, Options};

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
