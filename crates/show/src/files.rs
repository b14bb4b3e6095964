//! Everything that a profile has to show, as files: their names without ending, and what stands in them.

use std::collections::BTreeSet;
use std::io;

use crate::chart::Map;
use crate::matrix::View;
use crate::part::Body;
use crate::render::svg::Size;
use crate::render::{csv as values, svg as drawn};
use crate::sections::{self, papers};
use crate::{Subject, words};

/// How wide a drawing is on paper.
const WIDTH: f64 = 900.0;

/// What the sections show, and what stands beside the papers.
fn bodies(subject: &Subject) -> impl Iterator<Item = Body> {
    let sections = sections::of(subject).into_iter().chain(papers::of(subject));
    sections.flat_map(|section| section.parts).map(|part| part.body)
}

fn name_of_view(map: &Map, view: &View) -> String {
    format!("{}-{}", map.id, view.file_stem())
}

/// Every table and map as comma-separated values.
///
/// # Errors
/// What the writer of CSV says; never for content that is text.
pub fn csv(subject: &Subject) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for body in bodies(subject) {
        match &body {
            Body::Table(table) => files.push((table.id.clone(), values::table(table)?)),
            Body::Facts(facts) if !facts.id.is_empty() => {
                files.push((facts.id.to_owned(), values::facts(facts)?))
            }
            Body::Map(map) => {
                for view in &map.matrix.views {
                    files.push((name_of_view(map, view), values::matrix(&map.matrix, view)?));
                }
            }
            _ => {}
        }
    }
    Ok(named(files))
}

/// Every chart, map, drawing and graph as SVG.
pub fn svg(subject: &Subject) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for body in bodies(subject) {
        match &body {
            Body::Chart(chart) => files.push((chart.id.clone(), drawn::file(&drawn::chart(chart)))),
            Body::Drawing(one) => files.push((one.id.clone(), drawn::file(&drawn::drawing(one, WIDTH)))),
            Body::Graph(one) => files.push((one.id.clone(), drawn::file(&drawn::graph(one, WIDTH)))),
            Body::Map(map) => {
                let order = map.matrix.orders.len().saturating_sub(1);
                for (number, view) in map.matrix.views.iter().enumerate() {
                    if let Some(element) = drawn::map(map, number, order, Size::Large) {
                        files.push((name_of_view(map, view), drawn::file(&element)));
                    }
                }
            }
            _ => {}
        }
    }
    named(files)
}

/// Under names that files can have, each once.
fn named(files: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut taken = BTreeSet::new();
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let free = |(stem, content): (String, String)| {
        let stem: String = words::short(&stem, 80).chars().map(harmless).collect();
        let stem = stem.trim_start_matches('.');
        let names = std::iter::once(stem.to_owned()).chain((2..).map(|n| format!("{stem}-{n}")));
        let name = names.into_iter().find(|name| taken.insert(name.clone()));
        (name.unwrap_or_default(), content)
    };
    files.into_iter().map(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_each_is_one_files() {
        let of = |names: &[&str]| -> Vec<String> {
            let files = names.iter().map(|name| ((*name).to_owned(), String::new()));
            named(files.collect()).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(of(&["a", "a", "../etc/x", "é"]), ["a", "a-2", "-etc-x", "-"]);
    }
}
