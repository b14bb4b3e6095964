//! Classes of pairs: those that the figures show, and those that the topology claims.

use std::collections::{BTreeMap, HashMap};

use coho_model::Level;
use coho_model::judge::Judgement;
use coho_profile::{Coherence, CoherenceTime, Estimate, Home, Mode, PairMethod, published};

use super::summed_up;
use crate::Subject;
use crate::chart::{At, Axis, Bin, Chart, Colour, Mark, Plot};
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Row, Section, Table, Text};
use crate::{scale, words};

/// So many groups are named in the summary, in so many letters; a table lists all.
const FEW_GROUPS: usize = 24;
const MEMBERS: usize = 400;

/// The classes and levels that the figures show.
pub(super) fn add_found(section: &mut Section, judgement: &Judgement) {
    if !judgement.classes.is_empty() {
        let row = |class: &coho_model::Class| {
            Row::new([
                class.name.as_str().into(),
                Figure::from(&class.ns).into(),
                Cell::maybe(class.cycles.map(|cycles| Figure::exact(cycles).format(Format::Whole))),
                Figure::count(class.pairs).into(),
            ])
        };
        section.summary(
            Table::new("classes", "Classes that the figures show")
                .columns([
                    Column::text("class"),
                    Column::figures("time", "ns"),
                    Column::figures("", "cycles"),
                    Column::figures("pairs", ""),
                ])
                .rows(judgement.classes.iter().take(64).map(row)),
        );
    }
    for class in judgement.classes.iter().filter(|class| class.ns.modes.len() > 1) {
        let mode = |mode: &Mode| format!("{} ns ({:.0} %)", words::number(mode.value), mode.share * 100.0);
        let modes: Vec<_> = class.ns.modes.iter().map(mode).collect();
        section.summary(Text::new(format!("{} jumps between {}", class.name, modes.join(" and "))));
    }
    for (index, level) in judgement.levels.iter().enumerate() {
        section.summary(Text::labelled(
            format!("level {}", index + 1),
            format!(
                "{}: up to {} ns inside, from {} ns across",
                words::count(level.groups.len(), "group"),
                words::number(level.max_inside_ns),
                words::number(level.min_across_ns)
            ),
        ));
        if level.groups.len() <= FEW_GROUPS {
            let groups: Vec<String> = level.groups.iter().map(|group| words::cpus(group)).collect();
            section.summary(Text::new(words::short(&groups.join(" | "), MEMBERS)));
        }
    }
    if !judgement.levels.is_empty() {
        section.detail(groups(judgement));
    }
}

/// Every group with its members.
fn groups(judgement: &Judgement) -> Table {
    let mut rows = Vec::new();
    for (level, number) in judgement.levels.iter().zip(1..) {
        for (group, at) in level.groups.iter().zip(1..) {
            rows.push(Row::new([
                Figure::count(number as u64).into(),
                Figure::count(at as u64).into(),
                Figure::count(group.len()).into(),
                words::cpus(group).into(),
            ]));
        }
    }
    Table::new("groups", "Groups of CPUs, near within a group and far across groups")
        .columns([
            Column::figures("level", ""),
            Column::figures("group", ""),
            Column::figures("CPUs", ""),
            Column::text("members"),
        ])
        .rows(rows)
}

/// Coherence time by claimed class, as Kawabe & Furuya's tables 1 and 2 have it, with theirs beside; and the means of pairs
/// and the times of one CPU alone that it is made of.
pub(super) fn add_times(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    if !coherence.coherence_times.is_empty() {
        section.summary(times(subject, coherence));
    }
    let means = pair_means(subject, coherence);
    if !means.is_empty() {
        section.detail(summed_up(
            "pairs-by-class",
            "Pairs by claimed class: means of their medians",
            "mean",
            means,
        ));
    }
    let single = |name: &str, of: fn(&coho_profile::Single) -> &Estimate| {
        let figure = middle(subject, &coherence.singles.iter().map(of).collect::<Vec<_>>())?;
        Some((format!("single.{name}"), format!("single CPU, {name}"), figure))
    };
    let singles = [single("locked", |one| &one.locked_ns), single("unlocked", |one| &one.unlocked_ns)];
    let singles: Vec<_> = singles.into_iter().flatten().collect();
    if !singles.is_empty() {
        let title = "One CPU alone, ns per increment (Kawabe & Furuya, measurement 1): medians over the CPUs";
        section.detail(summed_up("single-cpus", title, "increment", singles));
    }
}

fn times(subject: &Subject, coherence: &Coherence) -> Table {
    let published = published_times();
    let row = |time: &CoherenceTime| {
        let class = words::class_of(&time.class, subject);
        let method = words::pair_method(time.method);
        let paper =
            published.get(&class).filter(|_| time.method == PairMethod::FreeRunning && !subject.published);
        Row::new([
            class.as_str().into(),
            method.into(),
            Figure::exact(time.mean_ns).into(),
            Figure::exact(time.baseline_ns).into(),
            Figure::within(time.coherence_ns, time.interval_ns, time.pairs).into(),
            Cell::maybe(time.coherence_cycles.map(|cycles| {
                let scale = if time.coherence_ns > 0.0 { cycles / time.coherence_ns } else { 0.0 };
                Figure {
                    value: cycles,
                    ..Figure::within(time.coherence_ns, time.interval_ns, time.pairs).scaled(scale)
                }
            })),
            paper.map_or(Cell::Nothing, |paper| paper.as_str().into()),
            Figure::count(time.pairs).into(),
        ])
        .keyed(format!("coherence.{method}.{class}"), format!("coherence time, {class}, {method}"))
    };
    let mut baselines: Vec<&str> =
        coherence.coherence_times.iter().map(|time| time.baseline.as_str()).collect();
    baselines.sort_unstable();
    baselines.dedup();
    let title = "Coherence time by claimed class (Kawabe & Furuya, tables 1 and 2)";
    Table::new("coherence-times", title)
        .columns([
            Column::text("class"),
            Column::text("method"),
            Column::figures("mean", "ns"),
            Column::figures("less", "ns"),
            Column::figures("time", "ns").compared("ns"),
            Column::figures("", "cycles").compared("cycles").detail(),
            Column::text("published ns"),
            Column::figures("pairs", "").detail(),
        ])
        .rows(coherence.coherence_times.iter().map(row))
        .note(format!(
            "less: {}; published: {}",
            baselines.join(", "),
            MACHINES.map(|(_, name)| name).join(", ")
        ))
}

/// The paper's machines in the order in which their figures stand side by side.
const MACHINES: [(&str, &str); 2] =
    [("kawabe-furuya/e5620", "Xeon E5620"), ("kawabe-furuya/x7560", "Xeon X7560")];

/// Published coherence times by class, both machines' in one text.
fn published_times() -> BTreeMap<String, String> {
    let mut times: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for (column, (name, _)) in MACHINES.iter().enumerate() {
        let machines = published::read(name).map(|publication| publication.machines).unwrap_or_default();
        for (_, profile) in machines {
            for time in profile.coherence.map(|coherence| coherence.coherence_times).unwrap_or_default() {
                times.entry(time.class).or_default()[column] = words::printed(time.coherence_ns);
            }
        }
    }
    let joined = |figures: [String; 2]| figures.map(|f| if f.is_empty() { "–".into() } else { f }).join(", ");
    times.into_iter().map(|(class, figures)| (class, joined(figures))).collect()
}

/// The mean of each class's medians, as the paper tells of pairs, methods apart and nearest first.
fn pair_means(subject: &Subject, coherence: &Coherence) -> Vec<(String, String, Figure)> {
    let mut grouped: BTreeMap<(PairMethod, bool, usize, String), Vec<&Estimate>> = BTreeMap::new();
    for pair in &coherence.pairs {
        let class = words::class_of_pair(pair, subject);
        let key = (pair.method, pair.home == Home::Third, words::class_rank(&class).0, class);
        grouped.entry(key).or_default().push(&pair.ns);
    }
    let figure =
        |((method, third, _, class), estimates): ((PairMethod, bool, usize, String), Vec<&Estimate>)| {
            let method = words::pair_method(method);
            let (id, home) = if third { (".third-home", ", line at a third node") } else { ("", "") };
            let key = format!("pair.{method}.{class}{id}");
            Some((key, format!("pairs, {class}, {method}{home}, mean"), mean(subject, &estimates)?))
        };
    grouped.into_iter().filter_map(figure).collect()
}

/// The mean of medians, between those of the intervals' ends.
fn mean(subject: &Subject, estimates: &[&Estimate]) -> Option<Figure> {
    let n = estimates.len() as f64;
    let mean = |end: fn(&Estimate) -> f64| estimates.iter().map(|estimate| end(estimate)).sum::<f64>() / n;
    let value = mean(|estimate| estimate.median);
    let told = !subject.published && estimates.iter().all(|estimate| estimate.has_interval());
    let interval = told.then(|| (mean(|estimate| estimate.low), mean(|estimate| estimate.high)));
    value.is_finite().then(|| Figure::within(value, interval, estimates.len() as u64))
}

/// The median of medians, between the medians of the intervals' ends.
pub(super) fn middle(subject: &Subject, estimates: &[&Estimate]) -> Option<Figure> {
    let middle = |end: fn(&Estimate) -> f64| scale::median(estimates.iter().map(|estimate| end(estimate)));
    let told = !subject.published && estimates.iter().all(|estimate| estimate.has_interval());
    let ends = || Some((middle(|estimate| estimate.low)?, middle(|estimate| estimate.high)?));
    Some(Figure::within(
        middle(|estimate| estimate.median)?,
        told.then(ends).flatten(),
        estimates.len() as u64,
    ))
}

/// Fewer pairs are a table.
const TELLING: usize = 4;

/// How often times occur, by class, for each method.
pub(super) fn add_histograms(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let found = Found::of(&subject.answers.judgement.levels);
    let mut by_method: BTreeMap<PairMethod, Vec<(String, f64)>> = BTreeMap::new();
    for pair in coherence.pairs.iter().filter(|pair| scale::is_time(pair.ns.median)) {
        let class = match &pair.claimed {
            Some(_) => words::class_of_pair(pair, subject),
            None => found.class(pair.a, pair.b),
        };
        by_method.entry(pair.method).or_default().push((class, pair.ns.median));
    }
    // Classes are found in strict alternation, or in the only method there is.
    let mut marks: Vec<Mark> = subject
        .answers
        .judgement
        .classes
        .iter()
        .filter(|class| scale::is_time(class.ns.median))
        .take(8)
        .map(|class| Mark {
            at: At::X(class.ns.median),
            label: class.name.clone(),
            colour: Colour::GREY,
            published: false,
        })
        .collect();
    for (method, pairs) in by_method.iter().filter(|(_, pairs)| pairs.len() >= TELLING) {
        let name = words::pair_method(*method);
        let chart = Chart::new(
            format!("class-histogram-{name}"),
            format!("How often times occur, {name}"),
            Axis::log("time of a pair, ns").tight(),
            Axis::linear("pairs"),
            Plot::Histogram(bins(pairs)),
        )
        .caption(format!(
            "{} in steps of equal ratio, by claimed class.{}",
            words::count(pairs.len(), "pair"),
            if marks.is_empty() { "" } else { " Dashed: the classes found." }
        ))
        .marks(std::mem::take(&mut marks));
        section.detail(chart);
    }
}

/// Counts in steps of equal ratio. In a step with several classes each has a bar of its own, the tallest behind.
fn bins(pairs: &[(String, f64)]) -> Vec<Bin> {
    let logs = || pairs.iter().map(|(_, ns)| ns.ln());
    let (low, high) = (logs().fold(f64::INFINITY, f64::min), logs().fold(f64::NEG_INFINITY, f64::max));
    // A step is never narrower than 0.5 %: finer than that is noise.
    let steps = (2.0 * (pairs.len() as f64).sqrt()).clamp(12.0, 60.0);
    let step = ((high - low) / steps).max(0.005);
    let mut counts: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for (class, ns) in pairs {
        *counts.entry((((ns.ln() - low) / step) as usize, class.as_str())).or_default() += 1;
    }
    let mut bins: Vec<Bin> = counts
        .into_iter()
        .map(|((at, class), count)| {
            let (from, to) = ((low + step * at as f64).exp(), (low + step * (at + 1) as f64).exp());
            let hover = format!(
                "{class}: {} of {} to {} ns",
                words::count(count as usize, "pair"),
                words::number(from),
                words::number(to)
            );
            Bin { from, to, count, colour: Colour::of_class(class), hover }
        })
        .collect();
    bins.sort_by_key(|bin| std::cmp::Reverse(bin.count));
    bins
}

/// The groups that the figures show, for pairs of which nothing is claimed.
struct Found {
    /// Each CPU's group, by level, finest first.
    levels: Vec<HashMap<u32, usize>>,
}

impl Found {
    fn of(levels: &[Level]) -> Self {
        let members = |groups: &[Vec<u32>]| {
            let numbered = groups.iter().enumerate();
            numbered.flat_map(|(group, cpus)| cpus.iter().map(move |&cpu| (cpu, group))).collect()
        };
        Self { levels: levels.iter().map(|level| members(&level.groups)).collect() }
    }

    /// `within level 1`, the finest that holds both CPUs.
    fn class(&self, a: u32, b: u32) -> String {
        let both =
            |groups: &HashMap<u32, usize>| groups.get(&a).is_some_and(|group| groups.get(&b) == Some(group));
        match self.levels.iter().position(both) {
            Some(level) => format!("within level {}", level + 1),
            None if self.levels.is_empty() => "not claimed".to_owned(),
            None => "across all levels".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_stand_beside_the_classes() {
        let published = published_times();
        assert_eq!(published.get("on-die").map(String::as_str), Some("27.40, 25.59"));
        assert_eq!(published.get("2-hop").map(String::as_str), Some("–, 292.33"));
    }

    #[test]
    fn where_nothing_is_claimed_the_found_groups_are_the_classes() {
        let level = |groups: &[&[u32]]| coho_model::Level {
            groups: groups.iter().map(|group| group.to_vec()).collect(),
            max_inside_ns: 1.0,
            min_across_ns: 2.0,
        };
        let levels = vec![level(&[&[0, 1], &[2, 3], &[4]]), level(&[&[0, 1, 2, 3], &[4]])];
        let found = Found::of(&levels);
        assert_eq!(found.class(0, 1), "within level 1");
        assert_eq!(found.class(1, 2), "within level 2");
        assert_eq!(found.class(1, 4), "across all levels");
    }

    #[test]
    fn every_pair_is_counted_once_within_its_ends() {
        let pairs: Vec<(String, f64)> =
            (0..100).map(|i| ("smt".to_owned(), 20.0 * 1.03f64.powi(i))).collect();
        let bins = bins(&pairs);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 100);
        assert!(bins.iter().all(|bin| bin.from < bin.to));
    }

    /// The class means of table 2, not the medians of its pairs.
    #[test]
    fn the_papers_means_come_out_as_printed_and_without_intervals() {
        let paper = Subject::only("published:kawabe-furuya/x7560").unwrap();
        let means = pair_means(&paper, paper.coherence().unwrap());
        for (class, printed) in [("on-die", 38.88), ("1-hop", 218.32), ("2-hop", 305.62)] {
            let key = format!("pair.free-running.{class}");
            let (.., figure) = means.iter().find(|(id, ..)| *id == key).unwrap();
            assert!((figure.value - printed).abs() < 0.01, "{class}: {}", figure.value);
            assert_eq!(figure.interval(), None);
        }
    }
}
