//! What a message between two processes of this machine costs, as predicted and as measured.

mod asked;

use coho_model::path::{Check, Own, Summary, VALIDITY, median_error};

use super::Entry;
use crate::Subject;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::Figure;
use crate::part::{Cell, Column, Missing, Row, Section, Table, Text};
use crate::words;

pub use asked::{checked, fitted, path};

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "paths", title: "Messages between processes", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let own = subject.answers.paths.as_ref()?;
    let mut section = ENTRY.section(headline(own));
    section.summary(times(own));
    for crossover in own.eager.iter().flat_map(|eager| &eager.crossovers) {
        section.summary(Text::new(format!("Eager or rendezvous, {}.", asked::crossing(crossover))));
    }
    section.summary(chart(own));
    if let Some(why) = &own.lacking {
        let what = "predictions of messages between processes".to_owned();
        section.summary(Missing { what, why: words::reason(why) });
    }
    for summary in &own.between_processes {
        section.detail(asked::loggp(summary));
    }
    section.detail(Text::labelled("valid for", VALIDITY));
    Some(section)
}

fn error(check: &Check) -> String {
    format!("{:+.0} %", 100.0 * check.error()).replace('-', "−")
}

/// How well the paths predict, and how much sooner the least and the largest message come through shared memory.
fn headline(own: &Own) -> String {
    let errors = own.between_processes.iter().filter_map(|summary| {
        let median = median_error(own.checks.iter().filter(|check| check.path == summary.path))?;
        Some(format!("{} within {:.0} %", summary.path, 100.0 * median))
    });
    match errors.collect::<Vec<_>>() {
        errors if errors.is_empty() => String::new(),
        errors => format!("predicted (median error): {}", errors.join(", ")),
    }
}

/// Each message: predicted, measured, and what shared memory saves over TCP.
fn times(own: &Own) -> Option<Table> {
    let mut sizes: Vec<u64> = own.checks.iter().map(|check| check.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let check = |path: &str, bytes: u64| own.checks.iter().find(|one| one.path == path && one.bytes == bytes);
    let row = |&bytes: &u64| {
        let [shared, tcp] = ["shared-memory", "tcp-loopback"].map(|path| check(path, bytes));
        let cells_of = |check: Option<&Check>| {
            let us = |ns: f64| Figure::exact(ns / 1e3).format(crate::figure::Format::Plain);
            [
                Cell::maybe(check.map(|check| us(check.predicted_ns))),
                Cell::maybe(check.map(|check| us(check.measured.median))),
                check.map_or(Cell::Nothing, |check| error(check).into()),
            ]
        };
        let saved = shared.zip(tcp).map(|(shared, tcp)| 1.0 - shared.predicted_ns / tcp.predicted_ns);
        let saved = saved.map(|share| Figure::exact(share).format(crate::figure::Format::Percent));
        let cells = std::iter::once(Figure::bytes(bytes).into()).chain(cells_of(shared)).chain(cells_of(tcp));
        Row::new(cells.chain([Cell::maybe(saved)]))
    };
    let pair = |name: &str| {
        [
            Column::figures(format!("{name} predicted"), "us"),
            Column::figures("measured", "us"),
            Column { is_figures: true, ..Column::text("error") },
        ]
    };
    let table = Table::new("paths", "Messages of one process to another, one way")
        .columns([Column::figures("message", "")])
        .columns(pair("shared memory"))
        .columns(pair("TCP"))
        .columns([Column::figures("saved", "")])
        .rows(sizes.iter().map(row))
        .note(
            "Predicted: in each pass, the time at either end plus the time of the flag between them. Measured: medians. Saved: \
             how much less time shared memory is predicted to take than TCP.",
        );
    (!sizes.is_empty()).then_some(table)
}

fn chart(own: &Own) -> Option<Chart> {
    let mut series = Vec::new();
    for (index, summary) in own.between_processes.iter().enumerate() {
        let colour = Colour::nth(index);
        let points = predicted(summary);
        if points.len() > 1 {
            series.push(Series {
                name: format!("{}, predicted", summary.path),
                colour,
                stroke: Stroke::Solid,
                points,
            });
        }
        let measured = own.checks.iter().filter(|check| check.path == summary.path).map(|check| {
            let figure = Figure::from(&check.measured).scaled(1e-3);
            let hover =
                format!("{}, {}: {} us measured", check.path, words::bytes(check.bytes), figure.text());
            Point { x: check.bytes as f64, y: figure.value, interval: figure.interval(), hover }
        });
        let points: Vec<Point> = measured.collect();
        if !points.is_empty() {
            series.push(Series {
                name: format!("{}, measured", summary.path),
                colour,
                stroke: Stroke::Points,
                points,
            });
        }
    }
    let (x, y) = (Axis::bytes("size of the message"), Axis::log("one way, us"));
    let plot = Plot::Lines(series);
    let is_drawn = matches!(&plot, Plot::Lines(series) if !series.is_empty());
    let chart = Chart::new("paths", "Messages between two processes by size", x, y, plot);
    is_drawn.then(|| {
        chart.caption("Lines: predicted from the parts of a message; points: whole messages, measured.")
    })
}

fn predicted(summary: &Summary) -> Vec<Point> {
    let Some(first) = summary.times.first() else { return Vec::new() };
    let own = summary.times.iter().filter(|time| time.variant == first.variant && time.bytes > 0.0);
    let point = |time: &coho_model::path::summary::Time| {
        let us = time.ns? / 1e3;
        let hover = format!(
            "{}, {}: {} us predicted",
            summary.path,
            words::bytes(time.bytes as u64),
            words::number(us)
        );
        Some(Point { x: time.bytes, y: us, interval: None, hover })
    };
    own.filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Memory, Profile, Transfer};

    use super::*;
    use crate::part::{Body, Depth};
    use crate::render::terminal::{self, Colours, Options};

    fn transfer(path: &str, bytes: u64, [send, whole, receive]: [f64; 3]) -> Transfer {
        Transfer {
            path: path.into(),
            to: 1,
            bytes,
            ns: Some(Estimate::exact(whole)),
            send_ns: Some(Estimate::exact(send)),
            receive_ns: Some(Estimate::exact(receive)),
            ..Transfer::default()
        }
    }

    fn of(transfers: Vec<Transfer>) -> Option<Section> {
        let memory = Some(Memory { transfers, ..Memory::default() });
        section(&Subject::new("mine", Profile { memory, ..Profile::default() }).answered())
    }

    #[test]
    fn messages_stand_beside_their_predictions_and_the_other_path() {
        let section = of(vec![
            transfer("shared-memory", 0, [0.0, 50.0, 0.0]),
            transfer("shared-memory", 1024, [1000.0, 2000.0, 500.0]),
            transfer("tcp-loopback", 1, [3000.0, 5000.0, 500.0]),
            transfer("tcp-loopback", 1024, [3000.0, 5000.0, 500.0]),
        ])
        .unwrap();
        assert!(section.headline.contains("shared-memory within 22 %"), "{}", section.headline);
        let mut out = Vec::new();
        let options = Options { depth: Depth::Detail, colours: Colours::None };
        terminal::section(&mut out, &section, options).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("1 KiB")).unwrap();
        for told in ["1.55", "2.00", "−22 %", "5.00", "69 %"] {
            assert!(row.contains(told), "{told}: {text}");
        }
        assert!(text.contains("LogGP") && text.to_lowercase().contains("valid for"), "{text}");
        assert!(section.parts.iter().any(|part| matches!(part.body, Body::Chart(_))));
    }

    #[test]
    fn what_cannot_be_predicted_says_why_and_without_messages_there_is_no_section() {
        let mut alone = transfer("shared-memory", 1024, [1000.0, 2000.0, 500.0]);
        alone.send_ns = None;
        let section = of(vec![alone]).unwrap();
        let missing = section.parts.iter().find_map(|part| match &part.body {
            Body::Missing(missing) => Some(missing.why.as_str()),
            _ => None,
        });
        assert!(missing.is_some_and(|why| why.contains("coho memory --parts transfers")), "{missing:?}");
        assert_eq!(section.headline, "");
        assert!(of(Vec::new()).is_none());
    }
}
