//! What synchronising costs an OpenMP program.

use coho_model::openmp::{Outcome, Prediction, Range};

use crate::sections::prelude::*;

/// Each process's costs and time, as predicted and as measured.
pub fn parts(processes: &[Outcome]) -> Vec<Part> {
    let mut parts = Vec::new();
    for process in processes {
        match process {
            Outcome::Predicted(prediction) => one(&mut parts, prediction),
            Outcome::NotAvailable { pid, why } => {
                parts.summary(Missing::new(format!("process {pid}"), &why.to_string()))
            }
        }
    }
    parts
}

fn one(parts: &mut Vec<Part>, prediction: &Prediction) {
    let operations = prediction.teams.iter().flat_map(|team| {
        [
            ("fork and join", team.threads, team.regions, team.fork_join_ns.ns()),
            ("barrier", team.threads, team.barriers, team.barrier_ns.ns()),
        ]
    });
    let operations = operations.filter(|(_, _, count, _)| *count > 0);
    parts.summary(
        Table::of(format!("openmp-{}", prediction.pid), format!("Process {}", prediction.pid), operations)
            .text("operation", |(operation, ..)| operation)
            .figures("threads", "", |(_, threads, ..)| threads)
            .figures("count", "", |(_, _, count, _)| count)
            .figures("each", "ns", |(.., ns)| figure(ns))
            .figures("in all", "ms", |(_, _, count, ns)| figure(ns).scaled(count as f64 * 1e-6)),
    );
    let ms = |seconds: f64| words::number(seconds * 1e3);
    let predicted = format!(
        "{} ms: {} ms of thread 0's work, plus the above at the profile's times",
        figure(prediction.predicted_s).scaled(1e3).text(),
        ms(prediction.work_s)
    );
    parts.summary(Text::labelled("predicted", predicted));
    let waited: f64 = prediction.teams.iter().map(|team| team.waiting_s).sum();
    let measured = format!(
        "{} ms, in which thread 0 waited {} ms; the prediction is {:.1} % {}. It leaves out members that arrived late \
         or were not running",
        ms(prediction.measured_s),
        ms(waited),
        prediction.error.abs() * 100.0,
        if prediction.error < 0.0 { "below" } else { "above" }
    );
    parts.summary(Text::labelled("measured", measured));
    let why_not = prediction.no_libgomp.as_ref().map(|why| format!("not available: {why}"));
    parts.summary(finding(prediction).or(why_not).map(|libgomp| Text::labelled("libgomp", libgomp)));
}

/// What the program would take on libgomp's teams, where the profile has their times.
pub fn finding(prediction: &Prediction) -> Option<String> {
    let libgomp = prediction.libgomp_s?;
    let ratio = libgomp.value / prediction.predicted_s.value;
    let apart = libgomp.low > prediction.predicted_s.high || libgomp.high < prediction.predicted_s.low;
    let caveat = if apart { "" } else { "; the profile's intervals do not tell the two apart" };
    Some(format!(
        "at its times in the profile, the same work, regions and barriers would take {} ms, {} times as long as on \
         coho's teams{caveat}. `coho run --openmp --try` shows whether they do",
        figure(libgomp).scaled(1e3).text(),
        words::times(ratio)
    ))
}

fn figure(range: Range) -> Figure {
    Figure::within(range.value, Some((range.low, range.high)), 1)
}
