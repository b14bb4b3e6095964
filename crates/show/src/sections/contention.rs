//! Many CPUs at once on one line.

use coho_profile::{Contention, ContentionRow, Estimate, LineOperation, published};

use super::{Entry, method};
use crate::Subject;
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Row, Section, Table, Text};
use crate::words;

/// How the published pairs were measured in another way than `add` by two CPUs.
const PAIRS_DIFFER: &str = "The published pairs are free-running increments, like add by 2 CPUs, but timed as a \
                            whole, ten million per thread; here only the time during which both CPUs work counts, \
                            batch by batch.";

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "contention", title: "Many CPUs on one line", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let contention = subject.profile.contention.as_ref()?;
    let mut section = ENTRY.section(headline(contention));
    if !contention.rows.is_empty() {
        section.summary(table(subject, contention));
    }
    if contention.rows.iter().any(|row| row.operation == LineOperation::Add && row.cpus.len() == 2) {
        for pairs in published_pairs() {
            section.summary(Text::labelled("published", pairs));
        }
        section.summary(Text::new(PAIRS_DIFFER));
    }
    let series = series(contention);
    if series.iter().any(|one| one.points.len() > 1) {
        section.summary(chart(&series).unwrap_or_else(|| bars(contention)));
    }
    method::add(&mut section.parts, "contention-method", &contention.method);
    Some(section)
}

/// What all CPUs at once make of an addition.
fn headline(contention: &Contention) -> String {
    let adding =
        contention.rows.iter().filter(|row| row.operation == LineOperation::Add && row.cpus.len() > 1);
    let measured = adding.filter_map(|row| Some((row, row.ns.as_ref()?, row.times_alone.as_ref()?)));
    measured.max_by_key(|(row, ..)| row.cpus.len()).map_or_else(String::new, |(row, ns, times)| {
        format!(
            "{} CPUs add to one word: {} ns an addition, {} times one CPU alone",
            row.cpus.len(),
            Figure::from(ns).text(),
            words::number(times.median)
        )
    })
}

fn table(subject: &Subject, contention: &Contention) -> Table {
    Table::new("contention", "")
        .columns([
            Column::text("operation"),
            Column::text("CPUs"),
            Column::figures("", "ns").compared("ns"),
            Column::figures("together", "10^6/s").compared("millions_per_s"),
            Column::figures("× alone", ""),
            Column::figures("failed", ""),
            Column::figures("least/most", ""),
            Column::figures("Jain", "").detail(),
            Column::text("shares").detail(),
            Column::figures("preempted", "").detail(),
        ])
        .rows(contention.rows.iter().map(|one| row(subject, one)))
        .note(
            "ns: one operation of one CPU, the mean over the CPUs; 10^6/s: operations of all CPUs together; failed: \
             failed attempts per success. Fairness within a batch: least/most is the operations of the slowest CPU \
             over those of the quickest, and Jain's index is 1 if all did equally many; shares: the smallest and the \
             largest over all batches.",
        )
}

fn row(subject: &Subject, row: &ContentionRow) -> Row {
    let figure = |of: &Option<Estimate>, scale: f64| {
        Cell::maybe(of.as_ref().map(|estimate| subject.figure(estimate).scaled(scale)))
    };
    let middle = |of: &Option<Estimate>| {
        Cell::maybe(of.as_ref().map(|estimate| Figure::exact(estimate.median).format(Format::Ratio)))
    };
    let cpus = match row.cpus.len() {
        1 => words::cpus(&row.cpus),
        _ => format!("{} {}", words::cpus(&row.cpus), row.mapping),
    };
    let ends = |(least, most): (f64, f64), share: f64| (least.min(share), most.max(share));
    let (least, most) = row.shares.iter().copied().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    let shares = if row.shares.is_empty() { Cell::Nothing } else { format!("{least:.3}–{most:.3}").into() };
    let n = row.cpus.len();
    Row::new([
        row.operation.name().into(),
        cpus.into(),
        figure(&row.ns, 1.0),
        figure(&row.operations_per_s, 1e-6),
        middle(&row.times_alone),
        middle(&row.failures_per_success),
        middle(&row.least_over_most),
        middle(&row.jain),
        shares,
        Figure::count(row.preempted_batches).into(),
    ])
    .keyed(
        format!("contention.{}.{}.{n}", row.operation, row.mapping),
        format!("{} by {} at once, {}", row.operation, words::count(n, "CPU"), row.mapping),
    )
}

/// Kawabe & Furuya's pairs of free-running increments, a line for each machine.
fn published_pairs() -> Vec<String> {
    let machine = |machine: &published::kawabe_furuya::Machine| {
        let places = [
            ("threads of a core", Some(machine.smt_pair)),
            ("cores of a die", Some(machine.on_die_mean)),
            ("one hop", Some(machine.hop1_mean)),
            ("two hops", machine.hop2_mean),
        ];
        let times =
            places.iter().filter_map(|(place, ns)| Some(format!("{place} {} ns", words::number((*ns)?))));
        format!("Kawabe & Furuya, {}: {}", machine.name, times.collect::<Vec<_>>().join(", "))
    };
    published::kawabe_furuya::figures().machine.iter().map(machine).collect()
}

/// Lines by number of CPUs; `None` if there are but one and another, for which bars say more.
fn chart(series: &[Series]) -> Option<Chart> {
    if series.iter().all(|one| one.points.len() <= 2) {
        return None;
    }
    let chart = Chart::new(
        "contention",
        "Operations on one line by number of CPUs",
        Axis::counts("CPUs at once"),
        Axis::log("10⁶ operations a second, all CPUs together"),
        Plot::Lines(series.to_vec()),
    );
    Some(chart.caption("Solid: the nearest CPUs; dashed: the farthest, if these differ."))
}

/// Bars for each operation: one CPU alone and the most at once.
fn bars(contention: &Contention) -> Chart {
    let most = contention.rows.iter().map(|row| row.cpus.len()).max().unwrap_or(1);
    let bars_of = |n: usize, index: usize| {
        let bar = |operation: &LineOperation| {
            let row =
                contention.rows.iter().find(|row| row.operation == *operation && row.cpus.len() == n)?;
            let figure = Figure::from(row.ns.as_ref()?);
            let hover = format!("{operation} by {}: {} ns", words::count(n, "CPU"), figure.text());
            Some(Bar { value: figure.value, interval: figure.interval(), hover })
        };
        let bars = LineOperation::ALL.iter().map(bar).collect();
        BarSeries { name: words::count(n, "CPU"), colour: Colour::nth(index), published: false, bars }
    };
    Chart::new(
        "contention",
        "One operation on a line, by one CPU alone and by several at once",
        Axis::linear("time of one operation of one CPU, ns"),
        Axis::linear(""),
        Plot::Bars {
            categories: LineOperation::ALL.map(|operation| operation.name().to_owned()).to_vec(),
            series: vec![bars_of(1, 5), bars_of(most, 0)],
        },
    )
}

/// A line for each operation and mapping; one CPU alone begins them all.
fn series(contention: &Contention) -> Vec<Series> {
    let rows = || contention.rows.iter().filter_map(|row| Some((row, row.operations_per_s.as_ref()?)));
    let mut keys: Vec<_> = rows()
        .filter(|(row, _)| row.cpus.len() > 1)
        .map(|(row, _)| (row.operation, row.mapping.clone()))
        .collect();
    keys.sort_by(|a, b| (a.0, b.1.as_str()).cmp(&(b.0, a.1.as_str())));
    keys.dedup();
    let line = |(operation, mapping): &(LineOperation, String)| {
        let mine = |row: &ContentionRow| {
            row.operation == *operation && (row.cpus.len() == 1 || row.mapping == *mapping)
        };
        let name = format!("{operation}, {mapping}");
        let point = |(row, rate): (&ContentionRow, &Estimate)| {
            let figure = Figure::from(rate).scaled(1e-6);
            Point {
                x: row.cpus.len() as f64,
                y: figure.value,
                interval: figure.interval(),
                hover: format!(
                    "{name}: {} · 10⁶ a second by {}",
                    figure.text(),
                    words::count(row.cpus.len(), "CPU")
                ),
            }
        };
        let mut points: Vec<Point> = rows().filter(|(row, _)| mine(row)).map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let stroke = if mapping == "binary-tree" { Stroke::Dashed } else { Stroke::Solid };
        Series { name, colour: Colour::nth(*operation as usize), stroke, points }
    };
    keys.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::Profile;

    use super::*;
    use crate::part::Body;

    fn row(cpus: u32, mapping: &str) -> ContentionRow {
        ContentionRow {
            operation: LineOperation::CompareAndSwap,
            mapping: mapping.into(),
            cpus: (0..cpus).collect(),
            ns: Some(Estimate::exact(81.25)),
            operations_per_s: Some(Estimate::exact(12.5e6)),
            times_alone: (cpus > 1).then(|| Estimate::exact(16.2)),
            shares: vec![1.0 / f64::from(cpus); cpus as usize],
            jain: Some(Estimate::exact(0.625)),
            least_over_most: Some(Estimate::exact(0.375)),
            failures_per_success: Some(Estimate::exact(0.75)),
            preempted_batches: 3,
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
        let charts = section.parts.iter().filter_map(|part| match &part.body {
            Body::Chart(Chart { plot: Plot::Lines(series), .. }) => Some(series),
            _ => None,
        });
        let series: Vec<_> = charts.flatten().collect();
        let lines: Vec<_> = series.iter().map(|line| (line.points.len(), line.stroke)).collect();
        assert_eq!(lines, [(3, Stroke::Solid), (3, Stroke::Dashed)]);
        assert_eq!(series[0].colour, series[1].colour);
    }

    #[test]
    fn two_cpus_have_bars() {
        let section = of(vec![row(1, "sequential"), row(2, "sequential")]);
        let is_bars = |body: &Body| matches!(body, Body::Chart(Chart { plot: Plot::Bars { .. }, .. }));
        assert_eq!(section.parts.iter().filter(|part| is_bars(&part.body)).count(), 1);
    }

    #[test]
    fn one_cpu_has_a_row_and_no_chart() {
        let section = of(vec![row(1, "sequential")]);
        assert!(!section.parts.iter().any(|part| matches!(part.body, Body::Chart(_))));
        assert!(section.headline.is_empty(), "{}", section.headline);
    }

    #[test]
    fn without_the_section_nothing_is_pretended() {
        assert!(section(&Subject::new("mine", Profile::default())).is_none());
    }
}
