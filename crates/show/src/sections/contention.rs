//! Many CPUs at once on one line.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use coho_profile::{Contention, ContentionRow, Estimate, LineOperation, Profile, published};

use crate::sections::prelude::*;

/// How the published pairs were measured in another way than `add` by two CPUs.
const PAIRS_DIFFER: &str = "The published pairs are free-running increments, like add by 2 CPUs, but timed as a \
                            whole, ten million per thread; here only the time during which both CPUs work counts, \
                            batch by batch.";

pub(super) const ENTRY: Entry = Entry { id: "contention", title: "Many CPUs on one line", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let contention = subject.profile.contention.as_ref()?;
    let mut section = ENTRY.section(headline(contention));
    section.summary(table(subject, contention));
    section.summary(method::distance(&contention.method));
    if contention.rows.iter().any(|row| row.operation == LineOperation::Add && row.cpus.len() == 2) {
        section.summary(published_pairs());
        section.summary(Text::new(PAIRS_DIFFER));
    }
    section.glance(chart(contention));
    method::add(&mut section.parts, "contention-method", &contention.method);
    Some(section)
}

/// What becomes of an addition when the most CPUs add at once.
fn headline(contention: &Contention) -> String {
    let is_addition = |row: &&ContentionRow| row.operation == LineOperation::Add && row.cpus.len() > 1;
    let additions = contention.rows.iter().filter(is_addition);
    let measured =
        additions.filter_map(|row| Some((row.cpus.len(), row.ns.as_ref()?, row.times_alone.as_ref()?)));
    let Some((n, ns, times)) = measured.max_by_key(|(n, ..)| *n) else { return String::new() };
    let (ns, times) = (Figure::from(ns).text(), Figure::from(times).text());
    let sharing = false_sharing(contention).map_or(String::new(), |words| format!("; {words}"));
    format!("{n} CPUs add to one word: {ns} ns an addition, {times} times one CPU alone{sharing}")
}

/// What it costs two CPUs that their words are on one line.
fn false_sharing(contention: &Contention) -> Option<String> {
    let is_it = |row: &&ContentionRow| row.operation == LineOperation::Store && row.cpus.len() == 2;
    let times = contention.rows.iter().find(is_it)?.times_alone.as_ref()?;
    Some(format!("false sharing by 2: {} times", Figure::from(times).text()))
}

fn table<'a>(subject: &Subject, contention: &'a Contention) -> TableOf<&'a ContentionRow> {
    let ratio = |of: &Option<Estimate>| Some(Format::Ratio.of(of.as_ref()?.median));
    let several = || contention.rows.iter().filter(|row| row.cpus.len() > 1);
    let has_choice = distinct(several().map(|row| &row.mapping)).len() > 1;
    Table::of("contention", "", &contention.rows)
        .text("operation", |row| row.operation.label())
        .text("CPUs", |row| match row.cpus.len() {
            n if n == 1 || !has_choice => words::cpus(&row.cpus),
            _ => format!("{} {}", words::cpus(&row.cpus), row.mapping),
        })
        .compared("", "ns", "ns", |row| subject.figure_of(&row.ns))
        .compared("together", "10^6/s", "millions_per_s", |row| subject.scaled(&row.operations_per_s, 1e-6))
        .figures("× alone", "", |row| ratio(&row.times_alone))
        .figures("failed", "", |row| ratio(&row.failures_per_success))
        .figures("least/most", "", |row| ratio(&row.least_over_most))
        .column(Column::figures("Jain", "").detail(), |row| ratio(&row.jain))
        .column(Column::text("shares").detail(), |row| {
            let (least, most) = scale::ends(row.shares.iter().copied())?;
            Some(format!("{least:.3}–{most:.3}"))
        })
        .column(Column::figures("preempted", "").detail(), |row| row.preempted_batches)
        .keyed(|row| {
            let (operation, mapping, n) = (row.operation, &row.mapping, row.cpus.len());
            let label = format!("{} by {} at once, {mapping}", operation.label(), words::count(n, "CPU"));
            (format!("contention.{operation}.{mapping}.{n}"), label)
        })
        .note(
            "ns: one operation of one CPU, the mean over the CPUs; 10^6/s: operations of all CPUs together; failed: \
             failed attempts per success. Fairness within a batch: least/most is the operations of the slowest CPU \
             over those of the quickest, and Jain's index is 1 if all did equally many; shares: the smallest and the \
             largest over all batches.",
        )
}

/// Kawabe & Furuya's pairs of free-running increments, a line for each machine.
fn published_pairs() -> Vec<Text> {
    let machine = |(_, profile): (String, Profile)| {
        let coherence = profile.coherence.unwrap_or_default();
        let times = &coherence.coherence_times;
        let mean = |class: &str| times.iter().find(|time| time.class == class).map(|time| time.mean_ns);
        let places = [
            ("threads of a core", times.first().map(|time| time.baseline_ns)),
            ("cores of a die", mean("on-die")),
            ("one hop", mean("1-hop")),
            ("two hops", mean("2-hop")),
        ];
        let time = |(place, ns): (_, Option<f64>)| Some(format!("{place} {} ns", words::number(ns?)));
        let times = words::joined(places.into_iter().filter_map(time), ", ");
        Text::labelled(
            "published",
            format!(
                "Kawabe & Furuya, {}: {times}",
                profile.host.and_then(|host| host.cpu).unwrap_or_default()
            ),
        )
    };
    published::paper("kawabe-furuya").publication().machines.into_iter().map(machine).collect()
}

/// Lines by number of CPUs, or bars if there are only two numbers.
fn chart(contention: &Contention) -> Option<Chart> {
    let series = series(contention);
    match series.iter().map(|one| one.points.len()).max()? {
        0 | 1 => None,
        2 => Some(bars(contention)),
        _ => {
            let title = "Operations on one line by number of CPUs";
            let axes =
                [Axis::counts("CPUs at once"), Axis::log("10⁶ operations a second, all CPUs together")];
            let chart = Chart::lines("contention", title, axes, series);
            Some(chart.caption("Solid: the nearest CPUs; dashed: the farthest, if these differ."))
        }
    }
}

/// Bars for each operation: one CPU alone and the most at once.
fn bars(contention: &Contention) -> Chart {
    let most = contention.rows.iter().map(|row| row.cpus.len()).max().unwrap_or(1);
    let bars_of = |n: usize, colour: Colour| {
        let by = words::count(n, "CPU");
        let bars = LineOperation::ALL.map(|operation| {
            let mut rows = contention.rows.iter();
            let row = rows.find(|row| row.operation == operation && row.cpus.len() == n)?;
            Some(Bar::new(row.ns.as_ref()?, |ns| format!("{} by {by}: {ns} ns", operation.label())))
        });
        BarSeries::new(by, colour, bars)
    };
    Chart::bars(
        "contention",
        "One operation on a line, by one CPU alone and by several at once",
        Axis::linear("time of one operation of one CPU, ns"),
        LineOperation::ALL.map(|operation| operation.label().to_owned()).to_vec(),
        vec![bars_of(1, Colour::nth(5)), bars_of(most, Colour::nth(0))],
    )
}

/// A line for each operation and mapping; each begins with one CPU alone.
fn series(contention: &Contention) -> Vec<Series> {
    let rates = contention.rows.iter().filter_map(|row| {
        Some((row.cpus.len(), row, Figure::from(row.operations_per_s.as_ref()?).scaled(1e-6)))
    });
    let mut rates: Vec<_> = rates.collect();
    rates.sort_by_key(|(n, ..)| *n);
    let several = rates.iter().filter(|(n, ..)| *n > 1);
    let keys: BTreeSet<_> = several.map(|(_, row, _)| (row.operation, Reverse(&row.mapping))).collect();
    let line = |(operation, Reverse(mapping)): (LineOperation, Reverse<&String>)| {
        let name = format!("{}, {mapping}", operation.label());
        let mine = rates
            .iter()
            .filter(|(n, row, _)| row.operation == operation && (*n == 1 || row.mapping == *mapping));
        let points = mine.map(|(n, _, rate)| {
            let by = words::count(*n, "CPU");
            Point::new(*n as f64, rate.clone(), |rate| format!("{name}: {rate} · 10⁶ a second by {by}"))
        });
        let stroke = if mapping == "binary-tree" { Stroke::Dashed } else { Stroke::Solid };
        Series::new(&name, Colour::nth(operation as usize), stroke).points(points)
    };
    keys.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::Profile;

    use super::*;
    use crate::chart::Plot;
    use crate::testing;

    fn row(cpus: u32, mapping: &str) -> ContentionRow {
        ContentionRow {
            operation: LineOperation::CompareAndSwap,
            mapping: mapping.into(),
            cpus: (0..cpus).collect(),
            ns: Some(Estimate::exact(81.25)),
            operations_per_s: Some(Estimate::exact(12.5e6)),
            times_alone: None,
            shares: Vec::new(),
            jain: None,
            least_over_most: None,
            failures_per_success: None,
            preempted_batches: 0,
        }
    }

    fn of(rows: Vec<ContentionRow>) -> Section {
        let contention = Some(Contention { rows, ..Contention::default() });
        section(&Subject::new("mine", Profile { contention, ..Profile::default() })).unwrap()
    }

    #[test]
    fn nearest_and_farthest_are_lines_of_one_colour() {
        let rows = ["sequential", "binary-tree"].map(|mapping| [row(2, mapping), row(4, mapping)]);
        let section = of(rows.into_iter().flatten().chain([row(1, "sequential")]).collect());
        let Plot::Lines(series) = &testing::charts(&section)[0].plot else { panic!("lines") };
        let lines: Vec<_> = series.iter().map(|line| (line.points.len(), line.stroke)).collect();
        assert_eq!(lines, [(3, Stroke::Solid), (3, Stroke::Dashed)]);
        assert_eq!(series[0].colour, series[1].colour);
    }

    #[test]
    fn two_cpus_have_bars_and_one_has_no_chart() {
        let section = of(vec![row(1, "sequential"), row(2, "sequential")]);
        assert!(matches!(testing::charts(&section)[..], [Chart { plot: Plot::Bars { .. }, .. }]));
        let section = of(vec![row(1, "sequential")]);
        assert!(testing::charts(&section).is_empty());
        assert!(section.headline.is_empty(), "{}", section.headline);
    }
}
