//! Predicted barriers, which of them wins where, and how far measurements are from it, for people.

use std::io::{self, Write};

use coho_model::barrier::{Algorithm, Check, Choice, Comparison, Fit, Prediction};

use super::table::{table, wrapped};
use crate::commands::predict_barrier::Predicted;
use crate::report::text;

/// Writes the tables.
pub fn write(out: &mut impl Write, predicted: &Predicted) -> io::Result<()> {
    for (mapping, barrier, fork_join) in &predicted.limits {
        let limit =
            format!("barrier {} ns, fork and join {} ns", text::number(*barrier), text::number(*fork_join));
        writeln!(out, "Limit of {} threads, {mapping}: {limit}", predicted.threads)?;
    }
    for (title, predictions) in [("barrier", &predicted.barriers), ("fork, join", &predicted.fork_joins)] {
        let rows = predictions.iter().map(|prediction| {
            [
                name(prediction),
                prediction.mapping.to_string(),
                text::number(prediction.ns),
                times(prediction.times_limit),
            ]
        });
        writeln!(out, "\n{}", table([title, "mapping", "ns", "x limit"], 2, rows.collect()))?;
    }
    let rows = predicted.quickest.iter().map(|winner| {
        let best = &winner.quickest;
        [
            best.threads.to_string(),
            best.mapping.to_string(),
            name(best).trim_end_matches(", separate-lines").to_owned(),
            text::number(best.ns),
            times(best.times_limit),
            choice_name(&winner.choice),
            winner.choice_ns.map_or_else(|| "–".into(), text::number),
        ]
    });
    let header = ["threads", "mapping", "quickest", "ns", "x limit", "the rule's", "ns"];
    writeln!(out, "\n{}", table(header, 3, rows.collect()))?;
    match &predicted.compared {
        Ok(found) => compared(out, found)?,
        Err(why) => writeln!(out, "\n{}", wrapped("", &format!("not compared: {}", text::tame(why))))?,
    }
    if let Some(fit) = &predicted.fit {
        fitted(out, fit)?;
    }
    writeln!(out)?;
    assumptions(out, predicted)
}

fn compared(out: &mut impl Write, found: &Comparison) -> io::Result<()> {
    if !found.checks.is_empty() {
        writeln!(out, "\n{}", measured(&found.checks))?;
    }
    let mut whys: Vec<&str> = found.left_out.iter().map(|row| row.why).collect();
    whys.sort_unstable();
    whys.dedup();
    for why in whys {
        let of_why = found.left_out.iter().filter(|row| row.why == why);
        let mut names: Vec<&str> = of_why.map(|row| &*row.algorithm).collect();
        names.dedup();
        writeln!(
            out,
            "{}",
            wrapped("not predicted: ", &text::tame(&format!("{}: {why}", names.join(", "))))
        )?;
    }
    Ok(())
}

fn measured(checks: &[Check]) -> String {
    let rows = checks.iter().map(|check| {
        let layout = if check.layout.is_empty() { String::new() } else { format!(", {}", check.layout) };
        let operation = if check.operation == "fork-join" { "fork, join: " } else { "" };
        [
            text::tame(&format!("{operation}{}{layout}", check.algorithm)),
            check.threads.to_string(),
            check.mapping.to_string(),
            text::estimate(&check.measured),
            text::number(check.predicted_ns),
            format!("{:+.0} %", 100.0 * check.error()),
        ]
    });
    table(["measured", "threads", "mapping", "ns (95 %)", "predicted", "error"], 1, rows.collect())
        .to_string()
}

fn fitted(out: &mut impl Write, fit: &Fit) -> io::Result<()> {
    let rows = fit.figures.iter().map(|figure| {
        [
            figure.name.to_owned(),
            text::number(figure.published),
            text::number(figure.predicted),
            format!("{:+.0} %", 100.0 * figure.residual()),
        ]
    });
    writeln!(out, "\n{}", table(["fork, join", "published", "predicted", "error"], 1, rows.collect()))?;
    let [chip, module, node] = fit.tiers_ns.map(text::number);
    let told =
        format!("one-way times fitted to these: {chip} ns in a chip, {module} in a module, {node} between");
    writeln!(out, "{}", wrapped("", &told))
}

/// Where the model's figures come from.
fn assumptions(out: &mut impl Write, predicted: &Predicted) -> io::Result<()> {
    let machine = &predicted.machine;
    let extra = match machine.extra_line.of_latency {
        0.0 => format!("{} ns", text::number(machine.extra_line.ns)),
        share => format!("{} of its one-way time", text::number(share)),
    };
    for (what, source) in [
        ("latencies", machine.latency_source.to_string()),
        ("an extra line", format!("{extra}, {}", machine.extra_line.source)),
        (
            "work of a thread's own",
            format!("{} ns, {}", text::number(machine.local.ns), machine.local.source),
        ),
    ] {
        writeln!(out, "{}", wrapped(&format!("{what}: "), &text::tame(&source)))?;
    }
    let unbuilt = [Algorithm::Tree, Algorithm::Leaders];
    if predicted.barriers.iter().any(|prediction| unbuilt.contains(&prediction.algorithm)) {
        let told = "\"tree\" has four children a node, as tournament-4 up to four threads; of \"leaders\", groups report to \
                    one each, and these run FBS. Neither can be chosen as a barrier: both are there to compare with.";
        writeln!(out, "{}", wrapped("", told))?;
    }
    for note in &machine.notes {
        writeln!(out, "{}", wrapped("", &text::tame(note)))?;
    }
    Ok(())
}

/// The algorithm with its layout and groups: `grid 16x8`.
pub fn name(prediction: &Prediction) -> String {
    let layout = prediction.algorithm.layout();
    let layout = if layout.is_empty() { String::new() } else { format!(", {layout}") };
    let shape: Vec<_> = prediction.shape.iter().map(usize::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!(" {}", shape.join("x")) };
    format!("{}{layout}{shape}", prediction.algorithm.name())
}

/// The rule's choice by the algorithms' names.
pub fn choice_name(choice: &Choice) -> String {
    match choice {
        Choice::OneLine => "fbs, one-line".into(),
        Choice::Flat => "fbs".into(),
        Choice::Grid { group } => format!("grid of {group}"),
        Choice::Hierarchical => "hierarchical".into(),
        Choice::Dissemination => "dissemination-2".into(),
    }
}

fn times(times: f64) -> String {
    if times.is_finite() { format!("{times:.2}") } else { "–".to_owned() }
}
