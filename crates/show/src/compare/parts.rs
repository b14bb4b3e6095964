//! What there is to show of a comparison: the largest changes, then every figure and the facts that differ.

use super::{Cell, Comparison, Fact, Row};
use crate::figure::{Figure, Format};
use crate::part::{Cell as Content, Column, Depth, Part, PartList, Table, Text};
use crate::words;

/// A space at which no line is broken.
const TOGETHER: char = '\u{a0}';
/// The head shows this many changes at most.
const LARGEST: usize = 10;

impl Comparison {
    /// What there is to show of it: the largest changes, then every figure and the facts that differ.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        parts.summary(self.distances.iter().map(Text::new));
        match self.figures.is_empty() {
            true => parts.summary(Text::new("The profiles have no figure in common.")),
            false => self.changes(&mut parts),
        }
        parts.summary(self.hundredfold());
        parts.summary(self.methods.iter().map(Text::new));
        if self.without_counterpart > 0 {
            let figures = words::count(self.without_counterpart, "figure");
            let first = words::short(&self.profiles[0], 40);
            parts.summary(Text::new(format!("{figures} of {first} without a counterpart.")));
        }
        parts.summary(self.facts.iter().map(|(id, facts)| self.facts_table(id, facts)));
        parts
    }

    /// How many figures are a hundredfold apart from a paper's.
    fn hundredfold(&self) -> Option<Text> {
        let n = self.figures.iter().flat_map(Row::others).filter(|cell| cell.is_hundredfold()).count();
        let are = if n == 1 { "is" } else { "are" };
        (n > 0).then(|| {
            Text::new(format!(
                "{} {are} a hundredfold or more apart from the paper's (!!): look at the methods before the machines.",
                words::count(n, "figure")
            ))
        })
    }

    /// The largest changes, and every figure.
    fn changes(&self, parts: &mut Vec<Part>) {
        let (comparable, untold): (Vec<&Cell>, Vec<&Cell>) =
            self.figures.iter().flat_map(Row::others).partition(|cell| cell.beyond_noise.is_some());
        let mut changed: Vec<(&Row, f64)> =
            self.figures.iter().filter_map(|row| Some((row, row.change()?))).collect();
        changed.sort_by(|a, b| b.1.total_cmp(&a.1));
        let largest = changed.iter().take(LARGEST).map(|(row, _)| *row);
        match (comparable.len(), changed.len()) {
            (0, _) => parts.summary(Text::new(
                "No figure has samples enough on both sides: whether any differs beyond noise is not known.",
            )),
            (n, 0) => parts.summary(Text::new(format!(
                "Of {} with intervals on both sides, none differs beyond noise.",
                words::count(n, "figure")
            ))),
            (_, n) => {
                let title = match n > LARGEST {
                    true => format!("The {LARGEST} largest of {n} differences beyond noise"),
                    false => format!("{} beyond noise", words::count(n, "difference")),
                } + ", by the least ratio that the intervals allow";
                parts.summary(self.table("largest-changes", &title, largest));
            }
        }
        // Where there are no intervals, as in publications, the figures themselves are what there is to see.
        let depth = if untold.len() * 2 > self.figures.len() { Depth::Summary } else { Depth::Detail };
        parts
            .add(depth, self.table("comparison", &words::count(self.figures.len(), "figure"), &self.figures));
    }

    fn table<'a>(&self, id: &str, title: &str, rows: impl IntoIterator<Item = &'a Row>) -> Table {
        let mut table =
            Table::of(id, title, rows).text("figure", |row| format!("{}, {}", row.label, row.unit));
        for (at, profile) in self.profiles.iter().enumerate() {
            table = table.figures(breakable(profile), "", |row| {
                row.values[at].as_ref().map(|cell| cell.figure.clone())
            });
            if at > 0 {
                let beside_paper = self
                    .figures
                    .iter()
                    .any(|row| row.values[at].as_ref().is_some_and(|cell| cell.beside_paper));
                let head = if beside_paper { "here over paper" } else { "ratio" };
                table = table.figures(head, "", |row| row.values[at].as_ref().map(ratio));
            }
        }
        let beside_paper = self.figures.iter().flat_map(Row::others).all(|cell| cell.beside_paper);
        if beside_paper {
            let note = "here over paper: the measured figure over the published one; !!: a hundredfold or more apart; \
                        ≠: the paper gives a range, and the two do not overlap; =: they do.";
            return table.note(note).done();
        }
        let note = format!(
            "ratio: over {}; ≠: beyond noise, with an allowance for so many comparisons, and by more than a tenth (of \
             one or two passes by half), by which runs of one machine differ; =: not so; ?: an interval is missing, or rests on too few samples",
            words::short(&self.profiles[0], 30)
        );
        table.note(note).done()
    }

    fn facts_table(&self, id: &str, facts: &[Fact]) -> Table {
        let title = match id {
            "host" => "Host facts that differ",
            "topology" => "Topology counts that differ",
            "verdict" => "Verdicts that differ",
            other => other,
        };
        Table::of(format!("{id}-differs"), title, facts)
            .text("", |fact| words::short(&fact.name, 200))
            .columns_of(
                self.profiles.iter().enumerate(),
                |(_, profile)| Column::text(breakable(profile)),
                |fact, (at, _)| words::short(fact.values[at].as_deref().unwrap_or("not known"), 200),
            )
            .done()
    }
}

/// A profile's label as a column's head, kept on one line; only that of a paper's machine may break, before the paper's
/// name: `e5620 (kawabe-furuya)`.
fn breakable(label: &str) -> String {
    let together = |part| words::short(part, 30).replace(' ', &TOGETHER.to_string());
    match label.split_once('/') {
        Some((paper, machine)) => format!("{} ({})", together(machine), together(paper)),
        None => together(label),
    }
}

fn ratio(cell: &Cell) -> Content {
    let sign = match cell.beyond_noise {
        _ if cell.is_hundredfold() => "!!",
        // One printed figure has no interval, ever.
        None if cell.beside_paper => "",
        Some(true) => "≠",
        Some(false) => "=",
        None => "?",
    };
    match cell.ratio {
        Some(ratio) => {
            let figure = Figure::within(ratio, cell.ratio_interval, cell.figure.samples);
            figure.format(Format::Plain).marked(sign).into()
        }
        None => format!("–{TOGETHER}{sign}").trim_end_matches(TOGETHER).to_owned().into(),
    }
}
