//! What a message between two processes of this machine costs, as predicted and as measured.

mod asked;

use std::collections::BTreeSet;

use coho_model::path::summary::Time;
use coho_model::path::{Check, Own, Summary, VALIDITY, median_error};
use coho_profile::Ns;

use crate::sections::prelude::*;

pub use asked::{checked, fitted, path};

pub(super) const ENTRY: Entry = Entry { id: "paths", title: "Messages between processes", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let own = subject.answers.paths.as_ref()?;
    let mut section = ENTRY.section(headline(own));
    section.summary(times(own));
    let crossovers = own.eager.iter().flat_map(|eager| &eager.crossovers).map(asked::crossing);
    section.summary(crossovers.map(|crossing| Text::new(format!("Eager or rendezvous, {crossing}."))));
    section.summary(chart(own));
    let lacking = own.lacking.as_deref();
    section.summary(lacking.map(|why| Missing::new("predictions of messages between processes", why)));
    section.detail(own.between_processes.iter().map(asked::loggp));
    section.detail(Text::labelled("valid for", VALIDITY));
    Some(section)
}

fn error(check: &Check) -> String {
    format!("{} %", signs::change(100.0 * check.error(), 0))
}

/// How well the paths predict.
fn headline(own: &Own) -> String {
    let errors = own.between_processes.iter().filter_map(|summary| {
        let median = median_error(own.checks.iter().filter(|check| check.path == summary.path))?;
        Some(format!("{} within {:.0} %", summary.path, 100.0 * median))
    });
    let errors = words::joined(errors, ", ");
    if errors.is_empty() { errors } else { format!("predicted (median error): {errors}") }
}

/// Each message: predicted, measured, and what shared memory saves over TCP.
fn times(own: &Own) -> impl Bodies {
    let sizes: BTreeSet<u64> = own.checks.iter().map(|check| check.bytes).collect();
    let check = |path: &str, bytes: u64| own.checks.iter().find(|one| one.path == path && one.bytes == bytes);
    let us = |time: Ns| Format::Plain.of(time / Ns::US);
    let title = "Messages of one process to another, one way";
    let mut table = Table::of("paths", title, sizes).figures("message", "", Figure::bytes);
    for (path, name) in [("shared-memory", "shared memory"), ("tcp-loopback", "TCP")] {
        table = table
            .figures(format!("{name} predicted"), "us", |bytes| Some(us(check(path, bytes)?.predicted)))
            .figures("measured", "us", |bytes| Some(us(Ns(check(path, bytes)?.measured.median))))
            .right("error", |bytes| check(path, bytes).map(error));
    }
    table
        .figures("saved", "", |bytes| {
            let [shared, tcp] = ["shared-memory", "tcp-loopback"].map(|path| check(path, bytes));
            Some(Format::Percent.of(1.0 - shared?.predicted / tcp?.predicted))
        })
        .note(
            "Predicted: in each pass, the time at either end plus the time of the flag between them. Measured: medians. Saved: \
             how much less time shared memory is predicted to take than TCP.",
        )
}

fn chart(own: &Own) -> Chart {
    let mut series = Vec::new();
    for (index, summary) in own.between_processes.iter().enumerate() {
        let named =
            |what: &str, stroke| Series::new(format!("{}, {what}", summary.path), Colour::nth(index), stroke);
        let line = named("predicted", Stroke::Solid).points(predicted(summary));
        let checks = own.checks.iter().filter(|check| check.path == summary.path);
        let points = named("measured", Stroke::Points).points(checks.map(|check| {
            let figure = Figure::from(&check.measured).scaled(1e-3);
            let hover = |us: &str| format!("{}, {}: {us} us measured", check.path, words::bytes(check.bytes));
            Point::new(check.bytes as f64, figure, hover)
        }));
        series.extend((line.points.len() > 1).then_some(line));
        series.extend((!points.points.is_empty()).then_some(points));
    }
    let axes = [Axis::bytes("size of the message"), Axis::log("one way, us")];
    Chart::lines("paths", "Messages between two processes by size", axes, series)
        .caption("Lines: predicted from the parts of a message; points: whole messages, measured.")
}

fn predicted(summary: &Summary) -> Vec<Point> {
    let Some(first) = summary.times.first() else { return Vec::new() };
    let own = summary.times.iter().filter(|time| time.variant == first.variant && time.bytes > 0.0);
    let point = |time: &Time| {
        let (us, size) = (time.ns? / Ns::US, words::bytes(time.bytes as u64));
        let hover = format!("{}, {size}: {} us predicted", summary.path, words::number(us));
        Some(Point::exact(time.bytes, us, hover))
    };
    own.filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Memory, Profile, Transfer};

    use super::*;
    use crate::part::Depth;
    use crate::testing;

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
        let text = testing::text(&section, Depth::Detail);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("1 KiB")).unwrap();
        for figure in ["1.55", "2.00", "−22 %", "5.00", "69 %"] {
            assert!(row.contains(figure), "{figure}: {text}");
        }
        assert!(text.contains("LogGP") && text.to_lowercase().contains("valid for"), "{text}");
        assert_eq!(testing::charts(&section).len(), 1);
    }

    #[test]
    fn what_cannot_be_predicted_says_why_and_without_messages_there_is_no_section() {
        let mut alone = transfer("shared-memory", 1024, [1000.0, 2000.0, 500.0]);
        alone.send_ns = None;
        let section = of(vec![alone]).unwrap();
        let [missing] = testing::missing(&section)[..] else { panic!("{section:?}") };
        assert!(missing.why.contains("coho memory --parts transfers"), "{missing:?}");
        assert_eq!(section.headline, "");
        assert!(of(Vec::new()).is_none());
    }
}
