//! The figures of a profile that can be set beside another's: each under a key that says what was measured.

use std::collections::BTreeMap;

use coho_profile::{Coherence, CoherenceTime, Estimate, Home, Inexact, PairMethod, StateRead, order};
use coho_topology::Level;

use super::subject::Subject;
use super::{call_figures, classes, idle_figures, memory_figures, sync_figures, text, workload_figures};

/// A figure that profiles can have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is: equal keys are the same quantity.
    pub key: Key,
    /// The value, in the unit of the key.
    pub value: f64,
    /// Within which the value lies by the profile's own intervals; `None` where the source tells none, or has too few samples.
    pub interval: Option<(f64, f64)>,
    /// How many CPUs, pairs, chains or samples it is the median or mean of.
    pub n: u64,
    /// How its source words it, where that does not tell it exactly.
    pub inexact: Option<Inexact>,
}

impl Figure {
    /// An estimate of a profile, times `scale`; what was published has an interval where the paper tells a range.
    pub fn of(subject: &Subject, key: Key, estimate: &Estimate, scale: f64) -> Self {
        let is_range = estimate.low < estimate.high;
        let told = if subject.published { is_range } else { estimate.has_interval() };
        Self {
            inexact: (subject.published && is_range).then_some(Inexact::Between),
            key,
            value: estimate.median * scale,
            interval: told.then_some((estimate.low * scale, estimate.high * scale)),
            n: estimate.n,
        }
    }
}

/// What a figure is; orders as tables do: by kind of figure, class, unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    rank: (u8, usize, usize),
    /// Stable for scripts: `coherence.free-running.on-die.ns`.
    pub id: String,
    /// For people: `coherence time, on-die, free-running`.
    pub label: String,
    /// `ns`, `cycles`, `lines`, …
    pub unit: &'static str,
}

impl Key {
    /// `table` and `row` order figures that are not of one id.
    pub fn new(table: u8, row: usize, id: String, label: String, unit: &'static str) -> Self {
        let unit_rank = usize::from(unit != "ns");
        Self {
            rank: (table, row, unit_rank),
            id: format!("{id}.{unit}"),
            label: text::short(&label, 80),
            unit,
        }
    }
}

/// Rows of a table by size: in their order and not in that of their digits.
pub fn size_order(size: u64) -> usize {
    size.checked_ilog2().unwrap_or(0) as usize
}

/// All comparable figures of a profile, in the order of tables.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let mut figures = call_figures::of(subject);
    figures.extend(sync_figures::of(subject));
    figures.extend(memory_figures::of(subject));
    figures.extend(workload_figures::of(subject));
    figures.extend(idle_figures::of(subject));
    if let Some(coherence) = subject.coherence() {
        figures.extend(singles(subject, coherence));
        figures.extend(pair_classes(subject, coherence));
        figures.extend(coherence.coherence_times.iter().flat_map(|time| times(subject, time)));
        figures.extend(reads(subject, coherence));
    }
    figures.retain(|figure| figure.value.is_finite());
    figures.sort_by(|a, b| a.key.cmp(&b.key));
    figures.dedup_by(|later, first| later.key == first.key);
    figures
}

fn singles(subject: &Subject, coherence: &Coherence) -> Vec<Figure> {
    let figure = |row, name: &str, estimates: Vec<&Estimate>| {
        let key = Key::new(0, row, format!("single.{name}"), format!("single CPU, {name}"), "ns");
        middle(subject, key, &estimates)
    };
    let locked = coherence.singles.iter().map(|single| &single.locked_ns).collect();
    let unlocked = coherence.singles.iter().map(|single| &single.unlocked_ns).collect();
    [figure(0, "locked", locked), figure(1, "unlocked", unlocked)].into_iter().flatten().collect()
}

fn pair_classes(subject: &Subject, coherence: &Coherence) -> Vec<Figure> {
    let mut grouped: BTreeMap<(PairMethod, bool, String), Vec<&Estimate>> = BTreeMap::new();
    for pair in &coherence.pairs {
        let class = classes::of_pair(pair, subject);
        grouped.entry((pair.method, pair.home == Home::Third, class)).or_default().push(&pair.ns);
    }
    let figure = |((method, third, class), estimates): ((PairMethod, bool, String), Vec<&Estimate>)| {
        let (method, row) = (classes::method_name(method), class_row(method, &class));
        let (id, home) = if third { (".third-home", ", line at a third node") } else { ("", "") };
        let key = Key::new(
            1,
            row,
            format!("pair.{method}.{class}{id}"),
            format!("pairs, {class}, {method}{home}, mean"),
            "ns",
        );
        mean(subject, key, &estimates)
    };
    grouped.into_iter().filter_map(figure).collect()
}

/// Methods apart, then nearest first.
fn class_row(method: PairMethod, class: &str) -> usize {
    method as usize * 100 + classes::rank(class).0
}

fn times(subject: &Subject, time: &CoherenceTime) -> Vec<Figure> {
    let class = classes::named(&time.class, subject);
    let method = classes::method_name(time.method);
    let row = class_row(time.method, &class);
    let key = |unit| {
        let label = format!("coherence time, {class}, {method}");
        Key::new(2, row, format!("coherence.{method}.{class}"), label, unit)
    };
    let interval = time.interval_ns;
    let figure = |unit, value: f64, scale: f64| Figure {
        key: key(unit),
        value,
        interval: interval.map(|(low, high)| (low * scale, high * scale)),
        n: time.pairs,
        inexact: None,
    };
    let mut figures = vec![figure("ns", time.coherence_ns, 1.0)];
    if let Some(cycles) = time.coherence_cycles {
        let scale = if time.coherence_ns > 0.0 { cycles / time.coherence_ns } else { 0.0 };
        figures.push(figure("cycles", cycles, scale));
    }
    figures
}

fn reads(subject: &Subject, coherence: &Coherence) -> Vec<Figure> {
    let mut grouped: BTreeMap<(String, String, u64), Vec<&Estimate>> = BTreeMap::new();
    for read in &coherence.reads {
        let state = state_name(read);
        grouped.entry((state, relation(subject, read), read.bytes)).or_default().push(&read.ns);
    }
    let figure = |((state, relation, bytes), estimates): ((String, String, u64), Vec<&Estimate>)| {
        let row = if relation == OWN { 0 } else { 1 + classes::rank(&relation).0 };
        let id = format!("read.{state}.{relation}.{bytes:020}");
        let label = format!("read of {state}, {relation}, {}", text::bytes(bytes));
        let mut key = Key::new(3, row, id, label, "ns");
        // The padded number kept sizes in order; scripts want it plain.
        key.rank.1 = key.rank.1 * 64 + bytes.checked_ilog2().unwrap_or(0) as usize;
        key.id = format!("read.{state}.{relation}.{bytes}.ns");
        middle(subject, key, &estimates)
    };
    grouped.into_iter().filter_map(figure).collect()
}

/// A line's state as profiles name it.
pub fn state_name(read: &StateRead) -> String {
    format!("{:?}", read.state).to_ascii_lowercase()
}

/// The relation of a reader to lines that it prepared itself.
pub const OWN: &str = "own";

/// How near the owner of the lines is to the reader, by the claims: `own` for the reader itself.
pub fn relation(subject: &Subject, read: &StateRead) -> String {
    if read.reader == read.owner {
        return OWN.to_owned();
    }
    let Some(section) = &subject.profile.topology else { return "another CPU".to_owned() };
    let level = section.topology.closest_shared(read.reader, read.owner);
    let name = match level {
        Some(Level::Numa) => "numa node".to_owned(),
        Some(level) => level.to_string(),
        None => "system".to_owned(),
    };
    classes::named(&name, subject)
}

/// The mean of medians, between those of the intervals' ends: as the paper tells of a class of pairs.
fn mean(subject: &Subject, key: Key, estimates: &[&Estimate]) -> Option<Figure> {
    let n = estimates.len() as f64;
    let mean = |end: fn(&Estimate) -> f64| estimates.iter().map(|estimate| end(estimate)).sum::<f64>() / n;
    let value = mean(|estimate| estimate.median);
    let told = !subject.published && estimates.iter().all(|estimate| estimate.has_interval());
    let interval = told.then(|| (mean(|estimate| estimate.low), mean(|estimate| estimate.high)));
    value.is_finite().then_some(Figure { key, value, interval, n: estimates.len() as u64, inexact: None })
}

/// The median of medians, between the medians of the intervals' ends.
pub fn middle(subject: &Subject, key: Key, estimates: &[&Estimate]) -> Option<Figure> {
    let value = median(estimates.iter().map(|estimate| estimate.median))?;
    let ends = || {
        let low = median(estimates.iter().map(|estimate| estimate.low))?;
        Some((low, median(estimates.iter().map(|estimate| estimate.high))?))
    };
    let told = !subject.published && estimates.iter().all(|estimate| estimate.has_interval());
    let interval = told.then(ends).flatten();
    Some(Figure { key, value, interval, n: estimates.len() as u64, inexact: None })
}

/// The median of finite values.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    (!values.is_empty()).then(|| order::median_of(&mut values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper(machine: &str) -> Subject {
        Subject::load(&format!("published:kawabe-furuya/{machine}")).unwrap().remove(0)
    }

    #[test]
    fn the_papers_tables_come_out_as_printed_and_without_intervals() {
        let figures = of(&paper("x7560"));
        let value = |id: &str| figures.iter().find(|figure| figure.key.id == id).map(|figure| figure.value);
        assert_eq!(value("single.locked.ns"), Some(11.94));
        assert_eq!(value("pair.free-running.smt.ns"), Some(13.29));
        // The class means of table 2, not the medians of its pairs.
        for (class, printed) in [("on-die", 38.88), ("1-hop", 218.32), ("2-hop", 305.62)] {
            let mean = value(&format!("pair.free-running.{class}.ns")).unwrap();
            assert!((mean - printed).abs() < 0.01, "{class}: {mean}");
        }
        assert_eq!(value("coherence.free-running.1-hop.cycles"), Some(463.37));
        assert!(figures.iter().all(|figure| figure.interval.is_none()));
    }

    #[test]
    fn the_median_passes_over_what_is_no_number() {
        assert_eq!(median([3.0, f64::NAN, 1.0].into_iter()), Some(2.0));
        assert_eq!(median(std::iter::empty()), None);
    }
}
