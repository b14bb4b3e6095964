//! What synchronising costs an OpenMP program, for people.

use std::io::{self, Write};

use coho_model::openmp::{Prediction, Range};

use super::table::{table, wrapped};
use crate::commands::predict_openmp::Predicted;
use crate::report::text;

/// Writes each process's costs and time, as predicted and as measured.
pub fn write(out: &mut impl Write, predicted: &Predicted) -> io::Result<()> {
    for (pid, of) in predicted {
        match of {
            Ok(prediction) => write_one(out, prediction)?,
            Err(why) => {
                writeln!(out, "{}", wrapped(&format!("process {pid}: "), &format!("not available: {why}")))?;
            }
        }
    }
    Ok(())
}

fn write_one(out: &mut impl Write, prediction: &Prediction) -> io::Result<()> {
    let mut rows = Vec::new();
    for team in &prediction.teams {
        let both =
            [("fork and join", team.regions, team.fork_join_ns), ("barrier", team.barriers, team.barrier_ns)];
        for (operation, count, ns) in both.into_iter().filter(|(_, count, _)| *count > 0) {
            rows.push([
                operation.to_owned(),
                team.threads.to_string(),
                count.to_string(),
                span(ns, 1.0),
                span(ns, count as f64 * 1e-6),
            ]);
        }
    }
    writeln!(out, "Process {}", prediction.pid)?;
    writeln!(out, "{}", table(["operation", "threads", "count", "ns each (95 %)", "ms in all"], 1, rows))?;
    let ms = |seconds: f64| text::number(seconds * 1e3);
    writeln!(
        out,
        "{}",
        wrapped(
            "predicted  ",
            &format!(
                "{} ms: {} ms of thread 0's work, and the above at the profile's prices",
                span(prediction.predicted_s, 1e3),
                ms(prediction.work_s)
            )
        )
    )?;
    let waited: f64 = prediction.teams.iter().map(|team| team.waiting_s).sum();
    let measured = format!(
        "{} ms, in which thread 0 waited {} ms; the prediction is {:.1} % {}. Members that came later, or were not run, \
         are not in it",
        ms(prediction.measured_s),
        ms(waited),
        prediction.error.abs() * 100.0,
        if prediction.error < 0.0 { "below" } else { "above" }
    );
    writeln!(out, "{}", wrapped("measured   ", &measured))?;
    match (finding(prediction), &prediction.no_libgomp) {
        (Some(finding), _) => writeln!(out, "{}", wrapped("libgomp    ", &finding)),
        (None, Some(why)) => writeln!(out, "{}", wrapped("libgomp    ", &format!("not available: {why}"))),
        (None, None) => Ok(()),
    }
}

/// What the program would take on libgomp's teams, where the profile tells.
pub fn finding(prediction: &Prediction) -> Option<String> {
    let libgomp = prediction.libgomp_s?;
    let ratio = libgomp.value / prediction.predicted_s.value;
    let apart = libgomp.low > prediction.predicted_s.high || libgomp.high < prediction.predicted_s.low;
    let told = if apart { "" } else { "; the profile's intervals do not tell the two apart" };
    Some(format!(
        "at its prices in the profile the same work, regions and barriers would take {} ms, {} times as long as on coho's \
         teams{told}. `coho run --openmp --try` tells whether they do",
        span(libgomp, 1e3),
        text::times(ratio)
    ))
}

fn span(range: Range, factor: f64) -> String {
    text::with_interval(range.value * factor, Some((range.low * factor, range.high * factor)))
}
