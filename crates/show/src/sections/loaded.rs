//! Latency while other CPUs move data.

use coho_model::loaded::{Knee, RISE, knee};
use coho_profile::{Loaded, LoadedRow, Traffic};

use crate::part::Cell;
use crate::sections::lines::{figure, lines};
use crate::sections::prelude::*;

pub(super) const ENTRY: Entry = Entry { id: "loaded", title: "Latency under load", of: section };

/// More rows than this are folded.
const ROWS: usize = 20;

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let loaded = subject.profile.loaded.as_ref()?;
    let mut section = ENTRY.section(headline(loaded));
    section.summary(knees(loaded));
    section.summary(table(subject, loaded));
    section.glance(chart(loaded));
    method::add(&mut section.parts, "loaded-method", &loaded.method);
    Some(section)
}

fn ns(row: &LoadedRow) -> String {
    row.latency_ns.as_ref().map_or_else(String::new, |ns| Figure::from(ns).text())
}

fn gb_per_s(row: &LoadedRow) -> String {
    row.bytes_per_s.as_ref().map_or_else(String::new, |rate| Figure::from(rate).scaled(1e-9).text())
}

/// Idle, and under the most that was read.
fn headline(loaded: &Loaded) -> String {
    match knee(loaded, Traffic::Read) {
        Some(Knee { idle, most, .. }) => {
            format!(
                "a load takes {} ns, and {} ns beside reads of {} GB/s",
                ns(idle),
                ns(most),
                gb_per_s(most)
            )
        }
        None => {
            let idle = loaded.rows.iter().find(|row| row.traffic == Traffic::None);
            idle.filter(|idle| idle.latency_ns.is_some())
                .map_or_else(String::new, |idle| format!("a load takes {} ns without other load", ns(idle)))
        }
    }
}

/// How much of each kind of traffic leaves loads as they are.
fn knees(loaded: &Loaded) -> Vec<Text> {
    let knees = Traffic::ALL.into_iter().filter_map(|traffic| Some((traffic, knee(loaded, traffic)?)));
    let knees: Vec<(Traffic, Knee<'_>)> = knees.collect();
    let Some((_, Knee { idle, .. })) = knees.first() else { return Vec::new() };
    let stays = |knee: &Knee<'_>| knee.below.is_some_and(|row| std::ptr::eq(row, knee.most));
    let idle = format!("{RISE} × its idle {} ns", ns(idle));
    if knees.iter().all(|(_, knee)| stays(knee)) {
        return vec![Text::new(format!("A load stayed below {idle} under every load measured."))];
    }
    if knees.iter().all(|(_, knee)| knee.above.is_none()) {
        let uncertain = "Under no load measured did a load surely take";
        return vec![Text::new(format!(
            "{uncertain} {idle}, but not every time is certain enough to exclude it."
        ))];
    }
    let begin = Text::new(format!("What others can move while a load stays below {idle}:"));
    let one = |(traffic, knee): &(Traffic, Knee<'_>)| {
        let most = format!("{} GB/s", gb_per_s(knee.most));
        let far = match (knee.below, knee.above) {
            (Some(row), Some(above)) => {
                format!("{} GB/s; {} ns at {} GB/s", gb_per_s(row), ns(above), gb_per_s(above))
            }
            (None, Some(above)) => {
                format!("at no rate measured; {} ns at {} GB/s", ns(above), gb_per_s(above))
            }
            (Some(_), None) if stays(knee) => format!("every rate measured, up to {most}"),
            (_, None) => format!("no rise seen up to {most}, but not every time is certain"),
        };
        Text::labelled(traffic.label(), far)
    };
    std::iter::once(begin).chain(knees.iter().map(one)).collect()
}

fn table<'a>(subject: &Subject, loaded: &'a Loaded) -> TableOf<&'a LoadedRow> {
    let several = distinct(loaded.rows.iter().map(|row| (row.reader, row.node))).len() > 1;
    let place = |row: &LoadedRow| match row.node {
        Some(node) => format!("CPU {}, node {node}", row.reader),
        None => format!("CPU {}", row.reader),
    };
    let mut table = Table::of("loaded", "", &loaded.rows);
    if several {
        table = table.text("reader, memory", place);
    }
    table
        .text("others", |row| match row.traffic {
            Traffic::None => row.traffic.label().to_owned(),
            kind => format!("{}, {}", words::count(row.threads, "CPU"), kind.label()),
        })
        .column(Column::text("instructions").detail(), |row| words::short(&row.instruction, 40))
        .figures("pause", "ns/KiB", |row| (row.pause_ns > 0.0).then_some(row.pause_ns))
        .compared("they move", "GB/s", "gb_per_s", |row| -> Cell {
            match &row.bytes_per_s {
                // The others did not run meanwhile: a host may run only one CPU of a virtual machine at a time.
                Some(rate) if rate.median <= 0.0 => "none".into(),
                rate => subject.scaled(rate, 1e-9).into(),
            }
        })
        .compared("a load", "ns", "ns", |row| subject.figure_of(&row.latency_ns))
        .keyed(move |row| {
            let LoadedRow { reader, traffic, pause_ns, .. } = row;
            let node = row.node.map_or_else(String::new, |node| format!(".node-{node}"));
            let label = format!("{}, {}, pause {pause_ns} ns", place(row), traffic.label());
            (format!("loaded.{reader}{node}.{traffic}.{pause_ns}"), label)
        })
        .detail_after(ROWS)
        .note(
            "they move: to and from memory, where a line that is stored to counts twice unless the store goes past the \
             caches, as it is read and written back.",
        )
}

/// A line for each kind of traffic, of the first reader and memory.
fn chart(loaded: &Loaded) -> Option<Chart> {
    let first = loaded.rows.first()?;
    let here = loaded.rows.iter().filter(|row| (row.reader, row.node) == (first.reader, first.node));
    let points = here.filter_map(|row| {
        let rate = figure(&row.bytes_per_s, 1e-9)?;
        let name = row.traffic.label();
        let hover = |ns: &str| format!("{name}, {} GB/s: {ns} ns", rate.text());
        let point = Point::new(rate.value, figure(&row.latency_ns, 1.0)?, hover);
        Some((Series::new(name, Colour::nth(row.traffic as usize), Stroke::Solid), point))
    });
    let axes = [Axis::log("GB/s of the others, to and from memory"), Axis::log("time of a load, ns")];
    Some(lines("loaded", "Latency by what other CPUs move", axes, points)?.caption(
        "A point for each pause between the others' blocks of 1 KiB; towards the right they move more.",
    ))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Profile};

    use super::*;
    use crate::testing;

    fn row(traffic: Traffic, gb: f64, pause_ns: f64, ns: f64) -> LoadedRow {
        LoadedRow {
            traffic,
            threads: u32::from(traffic != Traffic::None),
            instruction: "avx512".into(),
            pause_ns,
            bytes_per_s: (traffic != Traffic::None).then(|| Estimate::exact(1e9 * gb)),
            latency_ns: Some(Estimate::exact(ns)),
            ..LoadedRow::default()
        }
    }

    fn of(rows: Vec<LoadedRow>) -> Section {
        let loaded = Some(Loaded { rows, ..Loaded::default() });
        section(&Subject::new("mine", Profile { loaded, ..Profile::default() })).unwrap()
    }

    #[test]
    fn the_knee_is_named_with_its_figures() {
        let rows = [(14.0, 0.0, 260.0), (9.0, 200.0, 120.0), (2.0, 1000.0, 95.0)];
        let rows = rows.map(|(gb, pause_ns, ns)| row(Traffic::Read, gb, pause_ns, ns));
        let section = of([row(Traffic::None, 0.0, 0.0, 90.0)].into_iter().chain(rows).collect());
        let text = testing::text(&section, Depth::Summary);
        assert!(text.contains("9.00 GB/s; 260 ns at 14.0 GB/s"), "{text}");
        assert!(text.contains("while a load stays below 1.5 × its idle 90.0 ns:"), "{text}");
        assert_eq!(testing::charts(&section).len(), 1);
    }

    #[test]
    fn no_load_is_not_printed_as_a_small_one() {
        let section = of(vec![row(Traffic::Read, 0.0, 0.0, 149.0), row(Traffic::Read, 0.003, 9000.0, 149.0)]);
        let text = testing::text(&section, Depth::Summary);
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("1 CPU, reads")).collect();
        assert!(rows[0].contains("none") && !rows[0].contains("0.00"), "{text}");
        assert!(rows[1].contains("0.0030") && !rows[1].contains("none"), "{text}");
    }
}
