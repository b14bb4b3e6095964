//! Classes of pairs: those that the figures show, and those that the topology claims.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use coho_model::judge::Judgement;
use coho_profile::{Class, Coherence, CoherenceTime, Home, Level, PairMethod, published};

use super::modes;
use crate::Subject;
use crate::chart::{At, Axis, Bin, Chart, Colour, Mark, Plot};
use crate::figure::{Figure, Format};
use crate::part::{Column, Section, Table, TableOf, Text};
use crate::{scale, words};

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
            .figures("", "cycles", |class| {
                class.cycles.map(|cycles| Figure::exact(cycles).format(Format::Whole))
            })
            .figures("pairs", "", |class| class.pairs),
    );
    for Class { name, ns, .. } in judgement.classes.iter().filter(|class| class.ns.modes.len() > 1) {
        section.summary(Text::new(format!("{name} jumps between {}", modes(&ns.modes, " and "))));
    }
    for (level, number) in judgement.levels.iter().zip(1..) {
        section.summary(Text::labelled(
            format!("level {number}"),
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
    let singles = &coherence.singles;
    let locked: Vec<_> = singles.iter().map(|one| &one.locked_ns).collect();
    let unlocked: Vec<_> = singles.iter().map(|one| &one.unlocked_ns).collect();
    let singles = [("locked", locked), ("unlocked", unlocked)].into_iter().filter_map(|(name, of)| {
        Some((format!("single.{name}"), format!("single CPU, {name}"), subject.median_of(&of)?))
    });
    let title = "One CPU alone, ns per increment (Kawabe & Furuya, measurement 1): medians over the CPUs";
    section.detail(summed_up("single-cpus", title, "increment", &singles.collect::<Vec<_>>()));
}

/// A figure for several estimates: its key, what people call it, and the figure.
type SummedUp = (String, String, Figure);

/// A row for each.
fn summed_up(id: &str, title: &str, column: &str, rows: &[SummedUp]) -> Table {
    Table::of(id, title, rows)
        .text("", |(_, label, _)| label.as_str())
        .column(Column::figures(column, "ns").compared("ns"), |(.., figure)| figure.clone())
        .keyed(|(key, label, _)| (key, label))
        .done()
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
        .text("method", |time| words::pair_method(time.method))
        .figures("mean", "ns", |time| time.mean_ns)
        .figures("less", "ns", |time| time.baseline_ns)
        .column(Column::figures("time", "ns").compared("ns"), figure)
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
            let (class, method) = (class(time), words::pair_method(time.method));
            (format!("coherence.{method}.{class}"), format!("coherence time, {class}, {method}"))
        })
        .note(format!(
            "less: {}; published: {}",
            Vec::from_iter(baselines).join(", "),
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

/// The mean of each class's medians, as the paper gives it for pairs, methods apart and nearest first.
fn pair_means(subject: &Subject, coherence: &Coherence) -> Vec<SummedUp> {
    let mut grouped: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for pair in &coherence.pairs {
        let class = words::class_of_pair(pair, subject);
        let key = (pair.method, pair.home == Home::Third, words::class_rank(&class).0, class);
        grouped.entry(key).or_default().push(&pair.ns);
    }
    let means = grouped.into_iter().filter_map(|((method, third, _, class), estimates)| {
        let method = words::pair_method(method);
        let (id, home) = if third { (".third-home", ", line at a third node") } else { ("", "") };
        let key = format!("pair.{method}.{class}{id}");
        Some((key, format!("pairs, {class}, {method}{home}, mean"), subject.mean_of(&estimates)?))
    });
    means.collect()
}

/// Fewer pairs have a table alone.
const HISTOGRAM: usize = 4;

/// How often times occur, by class, for each method.
pub(super) fn add_histograms(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let judgement = &subject.answers.judgement;
    let groups = Groups::of(&judgement.levels);
    let mut by_method: BTreeMap<PairMethod, Vec<(String, f64)>> = BTreeMap::new();
    for pair in coherence.pairs.iter().filter(|pair| scale::is_time(pair.ns.median)) {
        let class = match &pair.claimed {
            Some(_) => words::class_of_pair(pair, subject),
            None => groups.class(pair.a, pair.b),
        };
        by_method.entry(pair.method).or_default().push((class, pair.ns.median));
    }
    // Classes are found in strict alternation, or in the only method there is: the first chart has the marks.
    let classes = judgement.classes.iter().filter(|class| scale::is_time(class.ns.median)).take(8);
    let mark = |class: &Class| Mark::new(At::X(class.ns.median), &class.name, Colour::GREY);
    let mut marks: Vec<Mark> = classes.map(mark).collect();
    for (method, pairs) in by_method.iter().filter(|(_, pairs)| pairs.len() >= HISTOGRAM) {
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
    let Some((low, high)) = scale::ends(pairs.iter().map(|(_, ns)| ns.ln())) else { return Vec::new() };
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

/// The groups that the figures show, for pairs of which the topology claims nothing.
struct Groups {
    /// Each CPU's group, by level, finest first.
    levels: Vec<HashMap<u32, usize>>,
}

impl Groups {
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
    fn where_nothing_is_claimed_the_measured_groups_are_the_classes() {
        let level = |groups: &[&[u32]]| coho_profile::Level {
            groups: groups.iter().map(|group| group.to_vec()).collect(),
            max_inside_ns: 1.0,
            min_across_ns: 2.0,
        };
        let levels = vec![level(&[&[0, 1], &[2, 3], &[4]]), level(&[&[0, 1, 2, 3], &[4]])];
        let groups = Groups::of(&levels);
        assert_eq!(groups.class(0, 1), "within level 1");
        assert_eq!(groups.class(1, 2), "within level 2");
        assert_eq!(groups.class(1, 4), "across all levels");
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
