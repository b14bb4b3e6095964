//! Two or more profiles, figure by figure: the rows of their tables side by side by their keys.

pub mod nearest;
mod parts;
pub mod share;

use std::collections::{BTreeMap, BTreeSet};

use coho_model::chance::{Family, Order};
use coho_model::history;
use coho_profile::{Estimate, Inexact};
use serde::Serialize;

use crate::figure::Figure;
use crate::part::{Body, Column, Facts, Section, Table};
use crate::{Subject, scale, sections, words};

/// What two or more profiles have in common and where they differ; the first is what the others are compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Their labels.
    pub profiles: Vec<String>,
    /// Where pairs of CPUs were at other distances than in the first profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<String>,
    /// Figures that the first and another profile have.
    pub figures: Vec<Row>,
    /// Where a paper's method differs from coho's, for the figures that stand beside the paper's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
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
    pub label: String,
    pub unit: &'static str,
    /// In the order of the profiles.
    pub values: Vec<Option<Cell>>,
}

impl Row {
    /// What the first profile's figure is compared with.
    fn others(&self) -> impl Iterator<Item = &Cell> {
        self.values.iter().skip(1).flatten()
    }

    /// By how much it changed beyond both intervals: the ratio nearest to 1 that these allow, as its logarithm. `None`
    /// where the intervals overlap or one is missing.
    fn change(&self) -> Option<f64> {
        let least = |cell: &Cell| {
            let (low, high) = cell.ratio_interval?;
            Some(low.ln().abs().min(high.ln().abs())).filter(|change| change.is_finite())
        };
        let changed = self.others().filter(|cell| cell.beyond_noise == Some(true));
        changed.filter_map(least).max_by(f64::total_cmp)
    }
}

/// A figure and, except in the first profile, how it differs from the first profile's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub value: f64,
    /// Its interval, where the source has one, of at least the six samples that a 95 % interval takes.
    pub interval: Option<(f64, f64)>,
    /// How many samples, CPUs or pairs it rests on.
    pub n: u64,
    /// How the source words it, where it is not exact: `about`, `below`, `between` the interval's ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inexact: Option<Inexact>,
    /// The value over the first profile's; of a measured and a published one, the measured over the published.
    pub ratio: Option<f64>,
    /// Within which the ratio lies if both values lie in their intervals.
    pub ratio_interval: Option<(f64, f64)>,
    /// Whether the difference exceeds the noise of so many comparisons and of different runs. `None` where an interval
    /// is missing, or rests on too few samples for so many comparisons.
    pub beyond_noise: Option<bool>,
    #[serde(skip)]
    figure: Figure,
    /// Whether either figure, but not both, is a paper's.
    #[serde(skip)]
    beside_paper: bool,
}

impl Cell {
    /// Whether this machine and a paper's are so far apart that their methods explain it sooner than the machines.
    fn is_hundredfold(&self) -> bool {
        self.beside_paper
            && self.ratio.is_some_and(|ratio| !(1.0 / HUNDREDFOLD..HUNDREDFOLD).contains(&ratio))
    }
}

const HUNDREDFOLD: f64 = 100.0;

/// Something that is not a figure; `None` where a profile does not have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    pub name: String,
    pub values: Vec<Option<String>>,
}

/// All figures that can be set beside another profile's, in the order in which they are shown, each once and with the
/// row that it begins.
fn figures(sections: &[Section]) -> Vec<(Row, Figure)> {
    let mut seen = BTreeSet::new();
    let mut figures = Vec::new();
    for part in sections.iter().flat_map(|section| &section.parts) {
        let Body::Table(table) = &part.body else { continue };
        for (id, key, column, figure) in table.compared() {
            if figure.value.is_finite() && seen.insert(id.clone()) {
                let label = words::short(&label(table, &key.label, column), 80);
                let (unit, values) =
                    (unit(column).unwrap_or_default(), vec![Some(cell(figure, None, false))]);
                figures.push((Row { id, label, unit, values }, figure.clone()));
            }
        }
    }
    figures
}

/// What to call a figure: as its row, and where figures of the row have the same unit, also as its column.
fn label(table: &Table, row: &str, column: &Column) -> String {
    let alike = table.columns.iter().filter(|other| unit(other) == unit(column)).count();
    if alike > 1 { words::joined([row, &column.name], ": ") } else { row.to_owned() }
}

/// The unit of a column that is compared: its own, or else the end of its key, as `ratio` or `lines`.
fn unit(column: &Column) -> Option<&'static str> {
    let ending = column.key?.rsplit('.').next();
    if column.unit.is_empty() { ending } else { Some(column.unit) }
}

/// Compares the first profile with each of the others.
pub fn compare(subjects: &[Subject]) -> Comparison {
    let sections: Vec<Vec<Section>> = subjects.iter().map(sections::of).collect();
    let mut columns = sections.iter().map(|sections| figures(sections));
    let first = columns.next().unwrap_or_default();
    let by_id =
        |column: Vec<(Row, Figure)>| column.into_iter().map(|(row, figure)| (row.id, figure)).collect();
    let others: Vec<BTreeMap<String, Figure>> = columns.map(by_id).collect();
    let n = first.len();
    let row = |(mut row, figure): (Row, Figure)| {
        let beside = |column: &BTreeMap<String, Figure>, subject: &Subject| {
            let figure_here = column.get(&row.id)?;
            match (subjects[0].published, subject.published) {
                // Here over paper, whichever was named first.
                (false, true) => Some(Cell { figure: figure_here.clone(), ..inverse(figure_here, &figure) }),
                (first, other) => Some(cell(figure_here, Some(&figure), first != other)),
            }
        };
        let values: Vec<_> =
            others.iter().zip(&subjects[1..]).map(|(column, subject)| beside(column, subject)).collect();
        row.values.extend(values);
        let has_counterpart = row.others().next().is_some();
        has_counterpart.then_some(row)
    };
    let mut figures: Vec<Row> = first.into_iter().filter_map(row).collect();
    judge(&mut figures);
    Comparison {
        profiles: subjects.iter().map(|subject| subject.label.clone()).collect(),
        distances: distances(subjects),
        methods: methods(subjects, &figures),
        without_counterpart: n - figures.len(),
        figures,
        facts: differing(subjects, &sections),
    }
}

/// How the papers' methods differ, for the figures that stand beside measured ones.
fn methods(subjects: &[Subject], figures: &[Row]) -> Vec<String> {
    if subjects.iter().all(|subject| subject.published) {
        return Vec::new();
    }
    let all = subjects.iter().filter_map(Subject::paper).flat_map(|paper| &paper.methods);
    let met = all.filter(|(key, _)| figures.iter().any(|row| row.id.starts_with(key.as_str())));
    scale::distinct(met.map(|(_, method)| method.clone()))
}

/// Other distances between the CPUs explain differences of much that is measured on them. A paper's machine is another
/// one.
fn distances(subjects: &[Subject]) -> Vec<String> {
    let measured = |subject: &'_ Subject| !subject.published;
    let Some((first, others)) = subjects.split_first().filter(|(first, _)| measured(first)) else {
        return Vec::new();
    };
    let apart = |other: &Subject| {
        let names = [first, other].map(|subject| words::short(&subject.label, 40));
        let pairs = first.coherence().zip(other.coherence());
        if let Some(apart) = pairs.and_then(|(first, other)| history::apart(first, other)) {
            return Some(apart.words([&names[0], &names[1]]));
        }
        let limits = history::limits_apart(first.profile.sync.as_ref()?, other.profile.sync.as_ref()?)?;
        let [one, other] = limits.map(words::number);
        Some(format!(
            "Barriers were measured with the CPUs at different distances: their limit is {one} ns in {}, {other} ns \
             in {}. Times of barriers, forks and joins may differ for that reason alone.",
            names[0], names[1]
        ))
    };
    others.iter().filter(|other| measured(other)).filter_map(apart).collect()
}

/// A published figure beside a measured one: its ratio is the measured figure over it.
fn inverse(published: &Figure, measured: &Figure) -> Cell {
    let Cell { ratio, ratio_interval, .. } = cell(measured, Some(published), true);
    Cell { ratio, ratio_interval, ..cell(published, None, true) }
}

fn cell(figure: &Figure, reference: Option<&Figure>, beside_paper: bool) -> Cell {
    let ratio = |over: f64, under: f64| (under > 0.0).then(|| over / under);
    let ends = reference.and_then(|reference| Some((ends(figure)?, ends(reference)?)));
    // A bound has no ratio.
    let is_bound = |figure: &Figure| figure.inexact == Some(Inexact::Below);
    let reference = reference.filter(|reference| !is_bound(figure) && !is_bound(reference));
    let ratio_of_ends =
        |((low, high), (base_low, base_high))| Some((ratio(low, base_high)?, ratio(high, base_low)?));
    Cell {
        value: figure.value,
        interval: figure.interval(),
        n: figure.n,
        inexact: figure.inexact,
        ratio: reference.and_then(|reference| ratio(figure.value, reference.value)),
        ratio_interval: reference.and(ends).and_then(ratio_of_ends),
        beyond_noise: None,
        figure: figure.clone(),
        beside_paper,
    }
}

/// Says of each figure whether it differs from the first profile's. They are all looked at to find those that do.
fn judge(figures: &mut [Row]) {
    let comparable = figures.iter().flat_map(Row::others).filter(|cell| ends(&cell.figure).is_some()).count();
    let family = Family::of(comparable).of_different_runs();
    for row in figures {
        let Some((first, others)) = row.values.split_first_mut() else { continue };
        let Some(first) = first.as_ref().map(|cell| cell.figure.clone()) else { continue };
        for cell in others.iter_mut().flatten() {
            cell.beyond_noise = differs(&cell.figure, &first, family);
        }
    }
}

fn differs(one: &Figure, other: &Figure, family: Family) -> Option<bool> {
    let family = family.of_passes(one.passes, other.passes);
    let measured = |figure: &Figure| {
        let (low, high) = figure.interval().filter(|_| figure.inexact.is_none())?;
        Some(Estimate { low, high, min: low, n: figure.samples, ..Estimate::exact(figure.value) })
    };
    if let (Some(one), Some(other)) = (measured(one), measured(other)) {
        let order = family.compare(&one, &other);
        return (order != Order::TooFew).then(|| order.differs());
    }
    let (mine, base) = (ends(one)?, ends(other)?);
    Some(mine.0 > base.1 || mine.1 < base.0)
}

/// The ends between which a figure lies; for a bound, everything below it.
fn ends(figure: &Figure) -> Option<(f64, f64)> {
    match figure.inexact {
        Some(Inexact::Below) => Some((f64::NEG_INFINITY, figure.value)),
        _ => figure.interval(),
    }
}

/// Facts in which at least two profiles differ, or that one measured profile has and another has not; that a
/// publication says nothing is no difference.
fn differing(subjects: &[Subject], sections: &[Vec<Section>]) -> BTreeMap<&'static str, Vec<Fact>> {
    let mut groups = BTreeMap::<&'static str, BTreeMap<&String, Vec<Option<String>>>>::new();
    for (column, sections) in sections.iter().enumerate() {
        for part in sections.iter().flat_map(|section| &section.parts) {
            let Body::Facts(facts @ Facts { compared: true, .. }) = &part.body else { continue };
            let group = groups.entry(facts.id).or_default();
            for (name, value) in &facts.facts {
                group.entry(name).or_insert_with(|| vec![None; subjects.len()])[column] = Some(value.clone());
            }
        }
    }
    let differ = |values: &[Option<String>]| {
        let stated = values.iter().zip(subjects);
        let stated = stated.filter(|(value, subject)| value.is_some() || !subject.published);
        scale::distinct(stated.map(|(value, _)| value)).len() > 1
    };
    let facts_of = |group: BTreeMap<&String, Vec<Option<String>>>| {
        let differing = group.into_iter().filter(|(_, values)| differ(values));
        differing.map(|(name, values)| Fact { name: name.clone(), values }).collect()
    };
    groups.into_iter().map(|(id, group)| (id, facts_of(group))).collect()
}

#[cfg(test)]
mod tests;
