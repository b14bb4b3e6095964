//! What a message between two processes of this machine costs, as predicted and as measured.

mod asked;

use std::collections::BTreeSet;

use coho_model::path::{Check, Own, VALIDITY};
use coho_profile::Ns;

use crate::sections::prelude::*;

pub use asked::{checked, fitted, path};

pub(super) const ENTRY: Entry = Entry { id: "paths", title: "Messages between processes", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let own = subject.answers.paths.as_ref()?;
    let mut section = ENTRY.section(headline(own));
    section.summary(times(own));
    let crossings = own.eager.iter().flat_map(|eager| asked::crossings(&eager.crossovers));
    section.summary(crossings.map(|crossing| Text::new(format!("Eager or rendezvous, {crossing}."))));
    section.summary(chart(own));
    let lacking = own.lacking.as_deref();
    section.summary(lacking.map(|why| Missing::new("predictions of messages between processes", why)));
    section.detail(own.between_processes.iter().map(asked::loggp));
    section.detail(Text::labelled("valid for", VALIDITY));
    Some(section)
}

fn error(check: &Check) -> String {
    format!("{} %", signs::change(100.0 * check.error, 0))
}

/// How well the paths predict.
fn headline(own: &Own) -> String {
    let errors = own.between_processes.iter().filter_map(|summary| {
        let checks = own.checks.iter().filter(|check| check.path == summary.path);
        Some(format!("{}: {}", summary.path, asked::errors(checks)?))
    });
    let errors = words::joined(errors, "; ");
    if errors.is_empty() { errors } else { format!("predicted by {errors}") }
}

fn sizes(own: &Own) -> BTreeSet<u64> {
    own.checks.iter().map(|check| check.bytes).collect()
}

/// The message of this size that stands in the table and in the chart.
fn check<'a>(own: &'a Own, path: &str, bytes: u64) -> Option<&'a Check> {
    own.checks.iter().find(|one| one.path == path && one.bytes == bytes)
}

/// Each message: predicted, measured, and what shared memory saves over TCP.
fn times(own: &Own) -> impl Bodies {
    let check = |path: &str, bytes: u64| check(own, path, bytes);
    let us = |time: Ns| Format::Plain.of(time / Ns::US);
    let title = "Messages of one process to another, one way";
    let mut table = Table::of("paths", title, sizes(own)).figures("message", "", Figure::bytes);
    for (path, name) in [("shared-memory", "shared memory"), ("tcp-loopback", "TCP")] {
        table = table
            .figures(format!("{name} predicted"), "us", |bytes| Some(us(check(path, bytes)?.predicted_ns)))
            .figures("measured", "us", |bytes| Some(us(Ns(check(path, bytes)?.measured_ns.median))))
            .right("error", |bytes| check(path, bytes).map(error));
    }
    table
        .figures("saved", "", |bytes| {
            let [shared, tcp] = ["shared-memory", "tcp-loopback"].map(|path| check(path, bytes));
            Some(Format::Percent.of(1.0 - shared?.predicted_ns / tcp?.predicted_ns))
        })
        .note(
            "Predicted: the median over the passes; each predicts from its own times of either end and of the \
             flag between them. Measured: medians. Error: of these two. Saved: how much less time shared memory \
             is predicted to take than TCP.",
        )
}

fn chart(own: &Own) -> Chart {
    let mut series = Vec::new();
    for (index, summary) in own.between_processes.iter().enumerate() {
        let checks = || sizes(own).into_iter().filter_map(|bytes| check(own, &summary.path, bytes));
        let named =
            |what: &str, stroke| Series::new(format!("{}, {what}", summary.path), Colour::nth(index), stroke);
        let told = |check: &Check, what: &str, us: &str| {
            format!("{}, {}: {us} us {what}", check.path, words::bytes(check.bytes))
        };
        let line = named("predicted", Stroke::Solid).points(checks().map(|check| {
            let us = check.predicted_ns / Ns::US;
            Point::exact(check.bytes as f64, us, told(check, "predicted", &words::number(us)))
        }));
        let points = named("measured", Stroke::Points).points(checks().map(|check| {
            let figure = Figure::from(&check.measured_ns).scaled(1e-3);
            Point::new(check.bytes as f64, figure, |us: &str| told(check, "measured", us))
        }));
        series.extend((line.points.len() > 1).then_some(line));
        series.extend((!points.points.is_empty()).then_some(points));
    }
    let axes = [Axis::bytes("size of the message"), Axis::log("one way, us")];
    Chart::lines("paths", "Messages between two processes by size", axes, series)
        .caption(
            "Lines: predicted from the parts of a message, medians over the passes; points: whole messages, measured.",
        )
}

#[cfg(test)]
mod tests {
    use coho_model::path::Summary;
    use coho_profile::{Estimate, Memory, Profile, Transfer, TransferPass};

    use super::*;
    use crate::chart::Plot;
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
            transfer("shared-memory", 4096, [2000.0, 4000.0, 1000.0]),
            transfer("tcp-loopback", 1, [3000.0, 5000.0, 500.0]),
            transfer("tcp-loopback", 1024, [3000.0, 5000.0, 500.0]),
        ])
        .unwrap();
        let told = "predicted by shared-memory: median error 22 %, largest 24 %; tcp-loopback: median error";
        assert!(
            section.headline.starts_with(told) && !section.headline.contains("within"),
            "{}",
            section.headline
        );
        let text = testing::text(&section, Depth::Detail);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("1 KiB")).unwrap();
        for figure in ["1.55", "2.00", "−22 %", "5.00", "69 %"] {
            assert!(row.contains(figure), "{figure}: {text}");
        }
        assert!(text.contains("LogGP") && text.to_lowercase().contains("valid for"), "{text}");
        let [chart] = testing::charts(&section)[..] else { panic!("{section:?}") };
        let Plot::Lines(lines) = &chart.plot else { panic!("{chart:?}") };
        let predicted = lines[0].points.iter().find(|point| point.x == 1024.0).unwrap();
        assert!((predicted.y - 1.55).abs() < 1e-9, "as in the table: {predicted:?}");
    }

    /// Each pass predicts 1 us and measures something else; the median over all rounds is another time again.
    #[test]
    fn what_is_shown_as_predicted_was_predicted_and_the_error_is_that_of_the_row() {
        let pass = |ns| TransferPass {
            ns,
            send_ns: 600.0,
            receive_ns: 350.0,
            line_receive_ns: 0.0,
            least_ns: 50.0,
            least_send_ns: 0.0,
            least_receive_ns: 0.0,
        };
        let mut message = transfer("shared-memory", 4096, [600.0, 1400.0, 350.0]);
        message.passes = [1700.0, 1650.0, 1050.0].map(pass).to_vec();
        let section = of(vec![transfer("shared-memory", 0, [0.0, 50.0, 0.0]), message]).unwrap();
        let text = testing::text(&section, Depth::Detail);
        let row = text.lines().find(|line| line.trim_start().starts_with("4 KiB")).unwrap();
        assert!(["1.00", "1.40", "−29 %"].iter().all(|figure| row.contains(figure)), "{text}");
        assert!(!row.contains("0.85") && !row.contains("−39 %"), "what no pass predicted: {text}");
        assert!(section.headline.contains("median error 29 %, largest 29 %"), "{}", section.headline);
        assert!(text.contains("Error: of these two"), "{text}");
    }

    #[test]
    fn what_loggp_cannot_tell_is_left_out_and_said() {
        let transfers = vec![
            transfer("shared-memory", 0, [0.0, 50.0, 0.0]),
            transfer("shared-memory", 64, [20.0, 80.0, 10.0]),
            transfer("process-vm", 64, [20.0, 1879.0, 10.0]),
            // The receiver's call begins before the sender's has returned.
            transfer("tcp-loopback", 1, [4000.0, 4900.0, 1700.0]),
            transfer("tcp-loopback", 64, [4000.0, 4900.0, 1700.0]),
        ];
        let profile =
            Profile { memory: Some(Memory { transfers, ..Memory::default() }), ..Profile::default() };
        let told = |name: &str| {
            let section = testing::section(path(&Summary::of(name, &profile).unwrap()));
            words::joined(testing::text(&section, Depth::Detail).split_whitespace(), " ")
        };
        let (whole, overlap) = ("where only the whole time is known", "the two ends overlap");
        let eager = told("eager");
        assert!(eager.contains("eager, as measured – – – 80.0"), "{eager}");
        assert!(eager.contains("eager, by constants 19.1 9.14 0.00"), "{eager}");
        assert!(eager.contains(whole) && !eager.contains(overlap), "{eager}");
        let tcp = told("tcp-loopback");
        assert!(tcp.contains("tcp-loopback 4000 1700 4000"), "{tcp}");
        assert!(tcp.contains(overlap) && !tcp.contains(whole), "{tcp}");
        let shared = told("shared-memory");
        assert!(!shared.contains(overlap) && !shared.contains(whole), "{shared}");
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
