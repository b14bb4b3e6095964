//! Two or more profiles, figure by figure: the rows of their tables side by side by their keys.

pub mod nearest;
pub mod share;

use std::collections::{BTreeMap, BTreeSet};

use coho_model::chance::{Family, Order};
use coho_model::history;
use coho_profile::{Estimate, Inexact};
use serde::Serialize;

use crate::figure::{Figure, Format};
use crate::part::{Body, Cell as Content, Column, Depth, Facts, Part, PartList, Section, Table, Text};
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

#[cfg(test)]
mod tests {
    use coho_profile::SyncLimit;

    use super::*;

    fn figure(value: f64, inexact: Option<Inexact>) -> Figure {
        let interval = inexact.is_none().then_some((value - 1.0, value + 1.0));
        Figure::within(value, interval, 40).worded(inexact)
    }

    fn judged(mine: Figure, base: Figure, comparisons: usize) -> Cell {
        let beside =
            |mine: &Figure| [cell(&base, None, false), cell(mine, Some(&base), false)].map(Some).to_vec();
        let row =
            |mine: &Figure| Row { id: String::new(), label: String::new(), unit: "ns", values: beside(mine) };
        let mut rows: Vec<Row> = (0..comparisons).map(|_| row(&mine)).collect();
        judge(&mut rows);
        rows.remove(0).values.remove(1).unwrap()
    }

    #[test]
    fn only_what_exceeds_both_intervals_and_a_tenth_is_a_difference() {
        for (value, expected) in [(101.0, false), (105.0, false), (115.0, true)] {
            let cell = judged(figure(value, None), figure(100.0, None), 1);
            assert_eq!(cell.beyond_noise, Some(expected));
            let (low, high) = cell.ratio_interval.unwrap();
            assert!(low < cell.ratio.unwrap() && cell.ratio.unwrap() < high);
        }
        let of_passes = |value, passes| Figure { passes, ..figure(value, None) };
        for (passes, value, expected) in
            [(2, 147.0, false), (1, 147.0, false), (2, 160.0, true), (3, 147.0, true)]
        {
            for cell in [
                judged(of_passes(value, passes), of_passes(100.0, 9), 1),
                judged(of_passes(value, 9), of_passes(100.0, passes), 1),
            ] {
                assert_eq!(cell.beyond_noise, Some(expected), "{value} in {passes} passes");
            }
        }
        // Among so many, nine samples each tell nothing.
        let few = |value| figure(value, None).of_samples(9);
        assert_eq!(judged(few(115.0), few(100.0), 1000).beyond_noise, None);
    }

    #[test]
    fn a_bound_is_kept_or_broken_but_has_no_ratio() {
        for (mine, beyond) in [(25.0, true), (4.0, false)] {
            let cell = judged(figure(10.0, Some(Inexact::Below)), figure(mine, None), 1);
            assert_eq!((cell.ratio, cell.ratio_interval, cell.beyond_noise), (None, None, Some(beyond)));
        }
        let about = judged(figure(4.0, Some(Inexact::About)), figure(2.0, None), 1);
        assert_eq!((about.ratio, about.beyond_noise), (Some(2.0), None));
    }

    #[test]
    fn the_head_tells_the_largest_changes_that_are_certain() {
        let row = |id: &str, value: f64| {
            let cells = [
                cell(&figure(100.0, None), None, false),
                cell(&figure(value, None), Some(&figure(100.0, None)), false),
            ];
            Row { id: id.into(), label: id.into(), unit: "ns", values: cells.map(Some).to_vec() }
        };
        let mut figures: Vec<Row> =
            (0..20).map(|i| row(&format!("near {i}"), 114.0 + f64::from(i) / 10.0)).collect();
        figures.push(row("noise", 100.5));
        figures.push(row("halved", 50.0));
        judge(&mut figures);
        let profiles = vec!["a".into(), "b".into()];
        let facts = BTreeMap::new();
        let parts = Comparison {
            profiles,
            distances: Vec::new(),
            methods: Vec::new(),
            figures,
            without_counterpart: 0,
            facts,
        }
        .parts();
        let Body::Table(head) = &parts[0].body else { panic!("{parts:?}") };
        assert_eq!(
            head.title,
            "The 10 largest of 21 differences beyond noise, by the least ratio that the intervals allow"
        );
        assert_eq!(head.rows[0].cells[0], Content::from("halved, ns"));
        assert!((head.rows.len(), parts[1].depth) == (10, Depth::Detail));
    }

    #[test]
    fn a_paper_stands_under_the_line_whichever_was_named_first() {
        let mine = |ns: &str| {
            let matrix = coho_model::Matrix::parse(&format!("\n{ns}\n")).unwrap();
            let mut coherence = coho_model::coherence_from_matrix(&matrix);
            let paper = Subject::only("published:kawabe-furuya/e5620").unwrap();
            coherence.singles = paper.coherence().unwrap().singles.clone();
            coherence.singles[0].locked_ns = Estimate::exact(ns.parse().unwrap());
            Subject::new("mine", coho_profile::Profile { coherence: Some(coherence), ..Default::default() })
        };
        let paper = || Subject::only("published:kawabe-furuya/e5620").unwrap();
        for (ns, ratio, is_hundredfold) in [("5.26", 0.5, false), ("0.01052", 0.001, true)] {
            for subjects in [[mine(ns), paper()], [paper(), mine(ns)]] {
                let comparison = compare(&subjects);
                let row = comparison.figures.iter().find(|row| row.id == "single.locked.ns").unwrap();
                let cell = row.values[1].as_ref().unwrap();
                assert!((cell.ratio.unwrap() / ratio - 1.0).abs() < 1e-9, "{cell:?}");
                assert_eq!(cell.is_hundredfold(), is_hundredfold);
                assert!(!comparison.methods.is_empty(), "how the paper measured");
                let text = format!("{:?}", comparison.parts());
                assert_eq!(text.contains("1 figure is a hundredfold"), is_hundredfold);
                assert!(text.contains("here over paper") && !text.contains("?: an interval"));
            }
        }
    }

    #[test]
    fn other_distances_between_the_cpus_are_said_first() {
        let of = |label: &str, ns: &str| {
            let matrix = coho_model::Matrix::parse(&format!("\n{ns}\n")).unwrap();
            let coherence = Some(coho_model::coherence_from_matrix(&matrix));
            Subject::new(label, coho_profile::Profile { coherence, ..Default::default() })
        };
        let head = |subjects: &[Subject]| match &compare(subjects).parts()[0].body {
            Body::Text(text) => text.text.clone(),
            _ => String::new(),
        };
        let moved = head(&[of("before", "26"), of("after", "128")]);
        assert!(
            moved.starts_with("CPUs 0 and 1 were at different distances: 26.0 ns in before, 128 ns in after")
        );
        assert!(!head(&[of("before", "26"), of("after", "30")]).contains("distances"));
        let paper = Subject::only("published:kawabe-furuya/e5620").unwrap();
        assert!(!head(&[of("before", "260"), paper]).contains("distances"));
        let barriers = |label: &str, ns: f64| {
            let limit = Estimate { n: 42, ..Estimate::exact(ns) };
            let limit = SyncLimit { barrier: limit.clone(), barrier_by: None, fork_join: limit };
            let sync = Some(coho_profile::Sync { limit_ns: Some(limit), ..Default::default() });
            let coherence = of(label, "26").profile.coherence;
            Subject::new(label, coho_profile::Profile { coherence, sync, ..Default::default() })
        };
        let moved = head(&[barriers("before", 42.08), barriers("after", 228.0)]);
        assert!(
            moved.contains("different distances: their limit is 42.1 ns in before, 228 ns in after"),
            "{moved}"
        );
        assert!(!head(&[barriers("before", 42.0), barriers("after", 50.0)]).contains("distances"));
    }
}
