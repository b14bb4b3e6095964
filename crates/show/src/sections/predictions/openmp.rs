//! What synchronising costs an OpenMP program.

use coho_model::openmp::{Prediction, Range};

use crate::figure::Figure;
use crate::part::{Body, Cell, Column, Missing, Part, Row, Table, Text};
use crate::words;

/// A process by its number, with its prediction, or why there is none.
pub type Process = (u32, Result<Prediction, String>);

/// Each process's costs and time, as predicted and as measured.
pub fn parts(processes: &[Process]) -> Vec<Part> {
    let body = |(pid, of): &Process| match of {
        Ok(prediction) => one(prediction),
        Err(why) => vec![Missing { what: format!("process {pid}"), why: words::reason(why) }.into()],
    };
    let bodies = processes.iter().flat_map(body);
    bodies.map(Part::summary).collect()
}

fn one(prediction: &Prediction) -> Vec<Body> {
    let mut rows = Vec::new();
    for team in &prediction.teams {
        let both =
            [("fork and join", team.regions, team.fork_join_ns), ("barrier", team.barriers, team.barrier_ns)];
        for (operation, count, ns) in both.into_iter().filter(|(_, count, _)| *count > 0) {
            rows.push(Row::new([
                operation.into(),
                Figure::count(team.threads).into(),
                Figure::count(count).into(),
                Cell::Figure(figure(ns)),
                Cell::Figure(figure(ns).scaled(count as f64 * 1e-6)),
            ]));
        }
    }
    let table = Table::new(format!("openmp-{}", prediction.pid), format!("Process {}", prediction.pid))
        .columns([
            Column::text("operation"),
            Column::figures("threads", ""),
            Column::figures("count", ""),
            Column::figures("each", "ns"),
            Column::figures("in all", "ms"),
        ])
        .rows(rows);
    let ms = |seconds: f64| words::number(seconds * 1e3);
    let predicted = format!(
        "{} ms: {} ms of thread 0's work, plus the above at the profile's times",
        figure(prediction.predicted_s).scaled(1e3).text(),
        ms(prediction.work_s)
    );
    let waited: f64 = prediction.teams.iter().map(|team| team.waiting_s).sum();
    let measured = format!(
        "{} ms, in which thread 0 waited {} ms; the prediction is {:.1} % {}. It leaves out members that arrived late \
         or were not running",
        ms(prediction.measured_s),
        ms(waited),
        prediction.error.abs() * 100.0,
        if prediction.error < 0.0 { "below" } else { "above" }
    );
    let mut bodies: Vec<Body> = vec![
        table.into(),
        Text::labelled("predicted", predicted).into(),
        Text::labelled("measured", measured).into(),
    ];
    match (finding(prediction), &prediction.no_libgomp) {
        (Some(finding), _) => bodies.push(Text::labelled("libgomp", finding).into()),
        (None, Some(why)) => bodies.push(Text::labelled("libgomp", format!("not available: {why}")).into()),
        (None, None) => {}
    }
    bodies
}

/// What the program would take on libgomp's teams, where the profile tells.
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
