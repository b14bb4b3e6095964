//! Classes of pairs: those that the figures show, and those that the topology claims.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use coho_model::judge::Judgement;
use coho_model::{Class, Level};
use coho_profile::published;
use coho_profile::{Coherence, CoherenceTime, Home, PairMethod};

use super::modes;
use crate::sections::prelude::*;

/// Classes that the summary lists, at most.
const CLASSES: usize = 64;
/// A level of more groups is described without naming them; a table lists all.
const FEW_GROUPS: usize = 24;
/// Letters in which the groups of a level are named, at most.
const MEMBERS: usize = 400;

/// The classes and levels that the figures show.
pub(super) fn add_classes(section: &mut Section, judgement: &Judgement) {
    section.summary(
        Table::of("classes", "Classes that the figures show", judgement.classes.iter().take(CLASSES))
            .text("class", |class| class.name.as_str())
            .figures("time", "ns", |class| &class.ns)
            .figures("", "cycles", |class| class.cycles.map(|cycles| Format::Whole.of(cycles)))
            .figures("pairs", "", |class| class.pairs),
    );
    let jumping = judgement.classes.iter().filter(|class| class.ns.modes.len() > 1);
    section.summary(jumping.map(|Class { name, ns, .. }| {
        Text::new(format!("{name} jumps between {}", modes(&ns.modes, " and ")))
    }));
    for (level, number) in judgement.levels.iter().zip(1..) {
        let groups = words::count(level.groups.len(), "group");
        let [inside, across] = [level.max_inside_ns, level.min_across_ns].map(words::number);
        let bounds = format!("{groups}: up to {inside} ns inside, from {across} ns across");
        section.summary(Text::labelled(format!("level {number}"), bounds));
        if level.groups.len() <= FEW_GROUPS {
            let groups = words::joined(level.groups.iter().map(|group| words::cpus(group)), " | ");
            section.summary(Text::new(words::short(&groups, MEMBERS)));
        }
    }
    let groups = judgement.levels.iter().zip(1u32..).flat_map(|(level, number)| {
        level.groups.iter().zip(1u32..).map(move |(group, at)| (number, at, group))
    });
    section.detail(
        Table::of("groups", "Groups of CPUs, near within a group and far across groups", groups)
            .figures("level", "", |(level, ..)| level)
            .figures("group", "", |(_, at, _)| at)
            .figures("CPUs", "", |(.., group)| group.len())
            .text("members", |(.., group)| words::cpus(group)),
    );
}

/// Coherence time by claimed class, as Kawabe & Furuya's tables 1 and 2 have it, with theirs beside; and the means of pairs
/// and the times of one CPU alone that it is made of.
pub(super) fn add_times(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    section.summary(times(subject, coherence));
    let title = "Pairs by claimed class: means of their medians";
    section.detail(summed_up("pairs-by-class", title, "mean", &pair_means(subject, coherence)));
    let singles = coherence.singles.iter();
    let singles = singles.flat_map(|one| [("locked", &one.locked_ns), ("unlocked", &one.unlocked_ns)]);
    let singles = subject.summed_up(singles, scale::median).into_iter();
    let singles = singles.map(|(name, ns)| (format!("single.{name}"), format!("single CPU, {name}"), ns));
    let title = "One CPU alone, ns per increment (Kawabe & Furuya, measurement 1): medians over the CPUs";
    section.detail(summed_up("single-cpus", title, "increment", &singles.collect::<Vec<_>>()));
}

/// A figure for several estimates: its key, what people call it, and the figure.
type SummedUp = (String, String, Figure);

fn summed_up(id: &str, title: &str, column: &str, rows: &[SummedUp]) -> impl Bodies {
    Table::of(id, title, rows)
        .text("", |(_, label, _)| label.as_str())
        .compared(column, "ns", "ns", |(.., figure)| figure.clone())
        .keyed(|(key, label, _)| (key, label))
}

fn times<'a>(subject: &Subject, coherence: &'a Coherence) -> TableOf<&'a CoherenceTime> {
    let published = published_times();
    let class = |time: &CoherenceTime| words::class_of(&time.class, subject);
    let figure = |time: &CoherenceTime| Figure::within(time.coherence_ns, time.interval_ns, time.pairs);
    let baselines: BTreeSet<&str> =
        coherence.coherence_times.iter().map(|time| time.baseline.as_str()).collect();
    let title = "Coherence time by claimed class (Kawabe & Furuya, tables 1 and 2)";
    Table::of("coherence-times", title, &coherence.coherence_times)
        .text("class", class)
        .text("method", |time| time.method.name())
        .figures("mean", "ns", |time| time.mean_ns)
        .figures("less", "ns", |time| time.baseline_ns)
        .compared("time", "ns", "ns", figure)
        .column(Column::figures("", "cycles").compared("cycles").detail(), |time| {
            let cycles = time.coherence_cycles?;
            let scale = if time.coherence_ns > 0.0 { cycles / time.coherence_ns } else { 0.0 };
            Some(Figure { value: cycles, ..figure(time).scaled(scale) })
        })
        .text("published ns", |time| {
            let alike = time.method == PairMethod::FreeRunning && !subject.published;
            published.get(&class(time)).filter(|_| alike).cloned()
        })
        .column(Column::figures("pairs", "").detail(), |time| time.pairs)
        .keyed(|time| {
            let (class, method) = (class(time), time.method.name());
            (format!("coherence.{method}.{class}"), format!("coherence time, {class}, {method}"))
        })
        .note(format!("less: {}; published: Xeon E5620, Xeon X7560", words::joined(baselines, ", ")))
}

/// Published coherence times by class, those of both machines in one text.
fn published_times() -> BTreeMap<String, String> {
    let mut times: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for (column, (_, profile)) in
        published::paper("kawabe-furuya").publication().machines.into_iter().enumerate()
    {
        for time in profile.coherence.into_iter().flat_map(|one| one.coherence_times) {
            let figures = times.entry(time.class).or_insert_with(|| ["–", "–"].map(str::to_owned));
            figures[column] = words::printed(time.coherence_ns);
        }
    }
    times.into_iter().map(|(class, figures)| (class, figures.join(", "))).collect()
}

/// The mean of each class's medians, as the paper gives it for pairs, methods apart and nearest first. Of a paper, the mean
/// that it prints, which may be of more pairs than it prints.
fn pair_means(subject: &Subject, coherence: &Coherence) -> Vec<SummedUp> {
    let printed = |method: PairMethod, class: &str| {
        let mut times = coherence.coherence_times.iter().filter(|_| subject.published);
        let time =
            times.find(|time| time.method == method && words::class_of(&time.class, subject) == class)?;
        Some(Figure { n: time.pairs, ..Figure::exact(time.mean_ns) })
    };

    let pairs = coherence.pairs.iter().map(|pair| {
        let class = words::class_of_pair(pair, subject);
        ((pair.method, pair.home == Home::Third, words::class_rank(&class).0, class), &pair.ns)
    });
    let means = subject.summed_up(pairs, scale::mean).into_iter().map(|((method, third, _, class), mean)| {
        let mean = printed(method, &class).unwrap_or(mean);
        let method = method.name();
        let (id, home) = if third { (".third-home", ", line at a third node") } else { ("", "") };
        (format!("pair.{method}.{class}{id}"), format!("pairs, {class}, {method}{home}, mean"), mean)
    });
    means.collect()
}

/// Fewer pairs have a table alone.
const HISTOGRAM: usize = 4;

pub(super) fn add_histograms(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let judgement = &subject.answers.judgement;
    let levels = group_of_each(&judgement.levels);
    let mut by_method: BTreeMap<PairMethod, Vec<(String, f64)>> = BTreeMap::new();
    for pair in coherence.pairs.iter().filter(|pair| scale::is_time(pair.ns.median)) {
        let class = match &pair.claimed {
            Some(_) => words::class_of_pair(pair, subject),
            None => measured_class(&levels, pair.a, pair.b),
        };
        by_method.entry(pair.method).or_default().push((class, pair.ns.median));
    }
    // Classes come from strict alternation, or from the only method there is: the first chart has the marks.
    let classes = judgement.classes.iter().filter(|class| scale::is_time(class.ns.median)).take(8);
    let marks = classes.map(|class| Mark::new(At::X(class.ns.median), &class.name, Colour::GREY));
    let mut marks: Vec<Mark> = marks.collect();
    for (method, pairs) in by_method.iter().filter(|(_, pairs)| pairs.len() >= HISTOGRAM) {
        let name = method.name();
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
    let Some((low, high)) = scale::ends(pairs.iter().map(|(_, ns)| ns.ln())) else { return Vec::new() };
    // A step is never narrower than 0.5 %: finer than that is noise.
    let steps = (2.0 * (pairs.len() as f64).sqrt()).clamp(12.0, 60.0);
    let step = ((high - low) / steps).max(0.005);
    let mut counts: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for (class, ns) in pairs {
        *counts.entry((((ns.ln() - low) / step) as usize, class.as_str())).or_default() += 1;
    }
    let bin = |((at, class), count): ((usize, &str), u64)| {
        let [from, to] = [at, at + 1].map(|at| (low + step * at as f64).exp());
        let [least, most] = [from, to].map(words::number);
        let hover = format!("{class}: {} of {least} to {most} ns", words::count(count, "pair"));
        Bin { from, to, count, colour: Colour::of_class(class), hover }
    };
    let mut bins: Vec<Bin> = counts.into_iter().map(bin).collect();
    bins.sort_by_key(|bin| std::cmp::Reverse(bin.count));
    bins
}

/// Each CPU's group, by measured level, finest first.
fn group_of_each(levels: &[Level]) -> Vec<HashMap<u32, usize>> {
    let groups = |level: &Level| {
        let numbered = level.groups.iter().enumerate();
        numbered.flat_map(|(group, cpus)| cpus.iter().map(move |&cpu| (cpu, group))).collect()
    };
    levels.iter().map(groups).collect()
}

/// The class of a pair if the topology claims nothing: `within level 1`, the finest level with both CPUs in one group.
fn measured_class(levels: &[HashMap<u32, usize>], a: u32, b: u32) -> String {
    let holds_both =
        |group: &HashMap<u32, usize>| group.get(&a).is_some_and(|of_a| group.get(&b) == Some(of_a));
    match levels.iter().position(holds_both) {
        Some(level) => format!("within level {}", level + 1),
        None if levels.is_empty() => "not claimed".to_owned(),
        None => "across all levels".to_owned(),
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
    fn where_nothing_is_claimed_the_measured_groups_are_the_classes() {
        let level = |groups: &[&[u32]]| Level {
            groups: groups.iter().map(|group| group.to_vec()).collect(),
            max_inside_ns: 1.0,
            min_across_ns: 2.0,
        };
        let levels = vec![level(&[&[0, 1], &[2, 3], &[4]]), level(&[&[0, 1, 2, 3], &[4]])];
        let levels = group_of_each(&levels);
        assert_eq!(measured_class(&levels, 0, 1), "within level 1");
        assert_eq!(measured_class(&levels, 1, 2), "within level 2");
        assert_eq!(measured_class(&levels, 1, 4), "across all levels");
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
        let printed = [
            ("x7560", "on-die", 38.88),
            ("x7560", "1-hop", 218.32),
            ("x7560", "2-hop", 305.62),
            ("e5620", "1-hop", 124.84),
        ];
        for (machine, class, printed) in printed {
            let paper = Subject::only(&format!("published:kawabe-furuya/{machine}")).unwrap();
            let means = pair_means(&paper, paper.coherence().unwrap());
            let key = format!("pair.free-running.{class}");
            let (.., figure) = means.iter().find(|(id, ..)| *id == key).unwrap();
            assert_eq!((figure.value, figure.interval()), (printed, None), "{machine} {class}");
        }
    }
}
