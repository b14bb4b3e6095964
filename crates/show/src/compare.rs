//! Two or more profiles, figure by figure: the rows of their tables side by side by their keys.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::Inexact;
use serde::Serialize;

use crate::figure::Figure;
use crate::part::{Body, Cell as Content, Column, Depth, Part, PartList, Row as Shown, Section, Table, Text};
use crate::{Subject, sections, words};

/// What two or more profiles have in common and where they differ; the first is what the others are compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The profiles' labels.
    pub profiles: Vec<String>,
    /// Figures that the first and another profile have.
    pub figures: Vec<Row>,
    /// How many of the first profile's figures no other has.
    pub without_counterpart: usize,
    /// Facts that differ: of the `host`, the `topology`, the `verdict`.
    #[serde(flatten)]
    pub facts: BTreeMap<&'static str, Vec<Fact>>,
}

/// One figure in all profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Stable name: `coherence.turn.on-die.ns`.
    pub id: String,
    /// For people.
    pub label: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// In the order of the profiles.
    pub values: Vec<Option<Cell>>,
}

impl Row {
    /// By how much it changed beyond both intervals: the ratio nearest to 1 that these allow, as its logarithm. `None` where
    /// the intervals overlap or one is not told.
    fn change(&self) -> Option<f64> {
        let changes = self.values.iter().skip(1).flatten().filter(|cell| cell.beyond_noise == Some(true));
        let least = |cell: &Cell| {
            let (low, high) = cell.ratio_interval?;
            Some(low.ln().abs().min(high.ln().abs())).filter(|change| change.is_finite())
        };
        changes.filter_map(least).max_by(f64::total_cmp)
    }
}

/// A figure and, but in the first profile, how it differs from the first's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The value.
    pub value: f64,
    /// Its interval, where the source tells one and has the six samples that a 95 % interval takes.
    pub interval: Option<(f64, f64)>,
    /// Of how many samples, CPUs or pairs.
    pub n: u64,
    /// How the source words it, where that does not tell it exactly: `about`, `below`, `between` the interval's ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inexact: Option<Inexact>,
    /// The value over the first profile's.
    pub ratio: Option<f64>,
    /// Within which the ratio lies if both values lie in their intervals.
    pub ratio_interval: Option<(f64, f64)>,
    /// Whether the difference exceeds the noise: the intervals do not overlap. `None` where one has no
    /// interval.
    pub beyond_noise: Option<bool>,
    #[serde(skip)]
    figure: Figure,
}

/// Something that is not a figure; `None` where a profile does not tell it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// In the order of the profiles.
    pub values: Vec<Option<String>>,
}

/// A figure under its key.
#[derive(Debug, Clone)]
struct Keyed {
    id: String,
    label: String,
    unit: &'static str,
    figure: Figure,
}

/// All figures that can be set beside another profile's, in the order in which they are shown; each once.
fn figures(sections: &[Section]) -> Vec<Keyed> {
    let mut seen = BTreeSet::new();
    let mut figures = Vec::new();
    for table in sections.iter().flat_map(|section| &section.parts).filter_map(|part| match &part.body {
        Body::Table(table) => Some(table),
        _ => None,
    }) {
        for row in &table.rows {
            let Some(key) = &row.key else { continue };
            for (column, cell) in table.columns.iter().zip(&row.cells) {
                let (Some(ending), Content::Figure(figure)) = (column.key, cell) else { continue };
                let id = format!("{}.{ending}", key.id);
                if figure.value.is_finite() && seen.insert(id.clone()) {
                    let unit = unit(column, ending);
                    // Where figures of one row have the same unit, the column tells which is which.
                    let is_like =
                        |other: &Column| other.key.is_some_and(|key| self::unit(other, key) == unit);
                    let several = table.columns.iter().filter(|other| is_like(other)).count() > 1;
                    let label = match several && !column.name.is_empty() {
                        true => format!("{}: {}", key.label, column.name),
                        false => key.label.clone(),
                    };
                    let label = words::short(&label, 80);
                    figures.push(Keyed { id, label, unit, figure: figure.clone() });
                }
            }
        }
    }
    figures
}

/// What a figure is in: as its column says, or else its key, as `ratio` or `lines`.
fn unit(column: &Column, ending: &'static str) -> &'static str {
    match column.unit {
        "" => ending.rsplit('.').next().unwrap_or(ending),
        unit => unit,
    }
}

/// Compares the first profile with each of the others.
pub fn compare(subjects: &[Subject]) -> Comparison {
    let sections: Vec<Vec<Section>> = subjects.iter().map(sections::of).collect();
    let columns: Vec<Vec<Keyed>> = sections.iter().map(|sections| figures(sections)).collect();
    let by_id = |column: &Vec<Keyed>| -> BTreeMap<String, Figure> {
        column.iter().map(|keyed| (keyed.id.clone(), keyed.figure.clone())).collect()
    };
    let others: Vec<_> = columns.iter().skip(1).map(by_id).collect();
    let first = columns.first().map_or(&[][..], Vec::as_slice);
    let mut rows = Vec::new();
    for keyed in first {
        let matches: Vec<Option<&Figure>> = others.iter().map(|column| column.get(&keyed.id)).collect();
        if matches.iter().any(Option::is_some) {
            let cells = matches.into_iter().map(|other| Some(cell(other?, Some(&keyed.figure))));
            let values = std::iter::once(Some(cell(&keyed.figure, None))).chain(cells).collect();
            rows.push(Row { id: keyed.id.clone(), label: keyed.label.clone(), unit: keyed.unit, values });
        }
    }
    Comparison {
        profiles: subjects.iter().map(|subject| subject.label.clone()).collect(),
        without_counterpart: first.len() - rows.len(),
        figures: rows,
        facts: differing(subjects, &sections),
    }
}

fn cell(figure: &Figure, reference: Option<&Figure>) -> Cell {
    let ratio = |over: f64, under: f64| (under > 0.0).then(|| over / under);
    let ends = reference.and_then(|reference| Some((ends(figure)?, ends(reference)?)));
    // What is only bounded has no ratio.
    let is_bound = |figure: &Figure| figure.inexact == Some(Inexact::Below);
    let reference = reference.filter(|reference| !is_bound(figure) && !is_bound(reference));
    let ratio_interval =
        ends.filter(|_| reference.is_some()).and_then(|((low, high), (base_low, base_high))| {
            Some((ratio(low, base_high)?, ratio(high, base_low)?))
        });
    Cell {
        value: figure.value,
        interval: figure.interval(),
        n: figure.n,
        inexact: figure.inexact,
        ratio: reference.and_then(|reference| ratio(figure.value, reference.value)),
        ratio_interval,
        beyond_noise: ends.map(|(mine, base)| mine.0 > base.1 || mine.1 < base.0),
        figure: figure.clone(),
    }
}

/// Within which a figure lies; of a bound, all below it.
fn ends(figure: &Figure) -> Option<(f64, f64)> {
    match figure.inexact {
        Some(Inexact::Below) => Some((f64::NEG_INFINITY, figure.value)),
        _ => figure.interval(),
    }
}

/// Facts that at least two profiles tell differently, or that one measured profile tells and another does not; a
/// publication's silence is no difference.
fn differing(subjects: &[Subject], sections: &[Vec<Section>]) -> BTreeMap<&'static str, Vec<Fact>> {
    let mut groups: BTreeMap<&'static str, Vec<BTreeMap<String, String>>> = BTreeMap::new();
    for (column, sections) in sections.iter().enumerate() {
        for part in sections.iter().flat_map(|section| &section.parts) {
            if let Body::Facts(facts) = &part.body
                && facts.compared
            {
                let columns = groups.entry(facts.id).or_insert_with(|| vec![BTreeMap::new(); subjects.len()]);
                columns[column].extend(facts.facts.iter().cloned());
            }
        }
    }
    let facts_of = |columns: Vec<BTreeMap<String, String>>| -> Vec<Fact> {
        let names: BTreeSet<&String> = columns.iter().flat_map(BTreeMap::keys).collect();
        let fact = |name: &String| {
            let values: Vec<Option<String>> =
                columns.iter().map(|column| column.get(name).cloned()).collect();
            let stated: Vec<&Option<String>> = values
                .iter()
                .zip(subjects)
                .filter(|(value, subject)| value.is_some() || !subject.published)
                .map(|(value, _)| value)
                .collect();
            stated
                .windows(2)
                .any(|two| two[0] != two[1])
                .then(|| Fact { name: name.clone(), values: values.clone() })
        };
        names.into_iter().filter_map(fact).collect()
    };
    groups.into_iter().map(|(id, columns)| (id, facts_of(columns))).collect()
}

/// A space at which no line is broken.
const TOGETHER: char = '\u{a0}';
/// Of so many changes the head tells.
const LARGEST: usize = 10;

impl Comparison {
    /// What there is to show of it: the largest changes, then every figure and the facts that differ.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        if self.figures.is_empty() {
            parts.summary(Text::new("The profiles have no figure in common."));
        } else {
            let mut changed: Vec<(&Row, f64)> =
                self.figures.iter().filter_map(|row| Some((row, row.change()?))).collect();
            changed.sort_by(|a, b| b.1.total_cmp(&a.1));
            let beyond = changed.len();
            changed.truncate(LARGEST);
            let head = match (beyond, changed.len()) {
                (0, _) => String::new(),
                (all, shown) if all > shown => {
                    format!("The {shown} largest of {all} differences beyond both intervals")
                }
                (all, _) => format!("{} beyond both intervals", words::count(all, "difference")),
            };
            let comparable = self.figures.iter().flat_map(|row| row.values.iter().skip(1).flatten());
            let comparable = comparable.filter(|cell| cell.beyond_noise.is_some()).count();
            if comparable == 0 {
                let text =
                    "No figure has an interval on both sides: whether any differs beyond noise is not known.";
                parts.summary(Text::new(text));
            } else if head.is_empty() {
                let text = format!(
                    "Of {} with intervals on both sides, none differs beyond them.",
                    words::count(comparable, "figure")
                );
                parts.summary(Text::new(text));
            } else {
                let rows = changed.iter().map(|(row, _)| *row);
                parts.summary(self.table("largest-changes", &head, rows));
            }
            // Where no interval is told, as in publications, the figures themselves are what there is to see.
            let untold = self.figures.iter().flat_map(|row| row.values.iter().skip(1).flatten());
            let untold = untold.filter(|cell| cell.beyond_noise.is_none()).count();
            let all =
                self.table("comparison", &words::count(self.figures.len(), "figure"), self.figures.iter());
            let depth = if untold * 2 > self.figures.len() { Depth::Summary } else { Depth::Detail };
            parts.add(depth, all);
        }
        if self.without_counterpart > 0 {
            let (n, of) =
                (words::count(self.without_counterpart, "figure"), words::short(&self.profiles[0], 40));
            parts.summary(Text::new(format!("{n} of {of} without a counterpart.")));
        }
        for (id, facts) in self.facts.iter().filter(|(_, facts)| !facts.is_empty()) {
            let title = match *id {
                "host" => "Host facts that differ",
                "topology" => "Topology counts that differ",
                "verdict" => "Verdicts that differ",
                other => other,
            };
            parts.summary(self.facts_table(id, title, facts));
        }
        parts
    }

    fn table<'a>(&self, id: &str, title: &str, rows: impl Iterator<Item = &'a Row>) -> Table {
        let mut columns = vec![Column::text("figure")];
        for (index, profile) in self.profiles.iter().enumerate() {
            columns.push(Column::figures(breakable(profile), ""));
            if index > 0 {
                columns.push(Column::figures("ratio", ""));
            }
        }
        let row = |row: &Row| {
            let mut cells = vec![Content::Text(format!("{}, {}", row.label, row.unit))];
            for (index, value) in row.values.iter().enumerate() {
                cells.push(value.as_ref().map_or(Content::Nothing, |cell| cell.figure.clone().into()));
                if index > 0 {
                    cells.push(value.as_ref().map_or(Content::Nothing, |cell| ratio(cell).into()));
                }
            }
            Shown::new(cells)
        };
        Table::new(id, title).columns(columns).rows(rows.map(row)).note(format!(
            "ratio: over {}; ≠: beyond noise, the intervals do not overlap; =: within noise; ?: at least one interval \
             is missing",
            words::short(&self.profiles[0], 30)
        ))
    }

    fn facts_table(&self, id: &str, title: &str, facts: &[Fact]) -> Table {
        let columns = std::iter::once(Column::text(""))
            .chain(self.profiles.iter().map(|profile| Column::text(breakable(profile))));
        let row = |fact: &Fact| {
            let values = fact.values.iter().map(|value| value.as_deref().unwrap_or("not told"));
            let cells = std::iter::once(fact.name.as_str()).chain(values);
            Shown::new(cells.map(|text| Content::Text(words::short(text, 200))))
        };
        Table::new(format!("{id}-differs"), title).columns(columns).rows(facts.iter().map(row))
    }
}

/// A profile's label for a column's head, in one piece; only that of a paper's machine may be broken, behind the paper's name.
fn breakable(label: &str) -> String {
    let together = words::short(label, 30).replace(' ', &TOGETHER.to_string());
    together.replace('/', "/ ")
}

fn ratio(cell: &Cell) -> String {
    let sign = match cell.beyond_noise {
        Some(true) => "≠",
        Some(false) => "=",
        None => "?",
    };
    let ratio = cell.ratio.map_or("–".to_owned(), words::times);
    let interval = cell
        .ratio_interval
        .map_or(String::new(), |(low, high)| format!(" ({}–{})", words::times(low), words::times(high)));
    format!("{ratio}{interval}{TOGETHER}{sign}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, inexact: Option<Inexact>) -> Figure {
        let interval = inexact.is_none().then_some((value - 1.0, value + 1.0));
        Figure::within(value, interval, 9).worded(inexact)
    }

    #[test]
    fn only_intervals_that_do_not_overlap_are_a_difference() {
        for (value, expected) in [(101.0, false), (105.0, true)] {
            let cell = cell(&figure(value, None), Some(&figure(100.0, None)));
            assert_eq!(cell.beyond_noise, Some(expected));
            let (low, high) = cell.ratio_interval.unwrap();
            assert!(low < cell.ratio.unwrap() && cell.ratio.unwrap() < high);
        }
    }

    #[test]
    fn a_bound_is_kept_or_broken_but_has_no_ratio() {
        for (mine, beyond) in [(25.0, true), (4.0, false)] {
            let cell = cell(&figure(10.0, Some(Inexact::Below)), Some(&figure(mine, None)));
            assert_eq!((cell.ratio, cell.ratio_interval, cell.beyond_noise), (None, None, Some(beyond)));
        }
        let about = cell(&figure(4.0, Some(Inexact::About)), Some(&figure(2.0, None)));
        assert_eq!((about.ratio, about.beyond_noise), (Some(2.0), None));
    }

    #[test]
    fn the_head_tells_the_largest_changes_that_are_certain() {
        let row = |id: &str, value: f64| {
            let cells =
                [cell(&figure(100.0, None), None), cell(&figure(value, None), Some(&figure(100.0, None)))];
            Row { id: id.into(), label: id.into(), unit: "ns", values: cells.map(Some).to_vec() }
        };
        let mut figures: Vec<Row> =
            (0..20).map(|i| row(&format!("near {i}"), 104.0 + f64::from(i) / 10.0)).collect();
        figures.push(row("noise", 100.5));
        figures.push(row("halved", 50.0));
        let comparison = Comparison {
            profiles: vec!["a".into(), "b".into()],
            figures,
            without_counterpart: 0,
            facts: BTreeMap::new(),
        };
        let parts = comparison.parts();
        let Body::Table(head) = &parts[0].body else { panic!("{parts:?}") };
        assert_eq!(head.title, "The 10 largest of 21 differences beyond both intervals");
        assert_eq!(head.rows[0].cells[0], Content::from("halved, ns"));
        assert!((head.rows.len(), parts[1].depth) == (10, Depth::Detail));
    }
}
