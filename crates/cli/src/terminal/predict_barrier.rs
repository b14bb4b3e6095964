//! Predicted barriers, which of them wins where, and how far measurements are from it, for people.

use std::io::{self, Write};

use coho_model::barrier::{
    Algorithm, Basis, Check, Choice, Comparison, Fit, Gap, MOST_VARIED, Prediction, Quickest, Source,
};

use super::table::{dense, table, wrapped};
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
            let by = prediction.by.map_or_else(String::new, |by| format!(", by {}", by.name()));
            [
                name(prediction) + &by,
                prediction.mapping.to_string(),
                text::number(prediction.ns),
                prediction.range_ns.map_or_else(|| "–".into(), range),
                times(prediction.times_limit),
            ]
        });
        writeln!(out, "\n{}", table([title, "mapping", "ns", "range", "x limit"], 2, rows.collect()))?;
    }
    writeln!(out, "{}", wrapped("", &ranges(predicted)))?;
    let rows = predicted.quickest.iter().map(|winner| {
        let best = &winner.quickest;
        [
            best.threads.to_string(),
            best.mapping.to_string(),
            name(best).trim_end_matches(", separate-lines").to_owned(),
            text::number(best.ns),
            times(best.times_limit),
            rivals(winner),
            choice_name(&winner.choice),
            winner.choice_ns.map_or_else(|| "–".into(), text::number),
        ]
    });
    let header = ["threads", "mapping", "quickest", "ns", "x limit", "or", "the rule's", "ns"];
    writeln!(out, "\n{}", dense(&header, 3, rows.map(Vec::from).collect()))?;
    if predicted.quickest.iter().any(|winner| !winner.rivals.is_empty()) {
        writeln!(
            out,
            "{}",
            wrapped("", "or: quickest elsewhere in the range; which of them wins is not known.")
        )?;
    }
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
        let mark = match check.basis {
            Basis::Predicted => "",
            Basis::LeftOut => " (left out)",
            Basis::Fit => " (fit)",
        };
        vec![
            text::tame(&format!("{operation}{}{layout}", check.algorithm)),
            check.threads.to_string(),
            check.mapping.to_string(),
            text::estimate(&check.measured),
            text::number(check.predicted_ns) + mark,
            // What a fit leaves says nothing of predictions.
            if check.basis == Basis::Fit { "–".into() } else { format!("{:+.0} %", 100.0 * check.error()) },
        ]
    });
    let header = ["measured", "threads", "mapping", "ns (95 %)", "predicted", "error"];
    let mut told = dense(&header, 1, rows.collect()).to_string();
    let has = |basis| checks.iter().any(|check| check.basis == basis);
    if has(Basis::LeftOut) {
        let what =
            "left out: by an extra line that is fitted to other teams, by number of threads and mapping";
        told = format!("{told}\n{}", wrapped("", what));
    }
    if has(Basis::Fit) {
        let what = "fit: the extra line is fitted to this very time; it is no prediction";
        told = format!("{told}\n{}", wrapped("", what));
    }
    told
}

/// Over what the ranges of times go.
fn ranges(predicted: &Predicted) -> String {
    let extra_line = &predicted.machine.extra_line;
    let [low, high] = extra_line.range;
    if predicted.threads > MOST_VARIED {
        return format!("range: not tried for more than {MOST_VARIED} threads");
    }
    let gap = |gap: Gap| match (gap.ns, gap.of_latency) {
        (ns, 0.0) => format!("{} ns", text::number(ns)),
        (_, 1.0) => "a whole one-way time".to_owned(),
        (_, share) => format!("{} of a one-way time", text::number(share)),
    };
    match (&extra_line.source, low == high) {
        (_, true) => "range: none, as the cost of an extra line is taken as known".into(),
        (Source::Assumed(_), _) => {
            format!(
                "range: if an extra line costs from {} to {}; nothing measured here tells",
                gap(low),
                gap(high)
            )
        }
        (Source::Measured(_), _) => {
            format!("range: over the interval of the extra line, {} to {}", gap(low), gap(high))
        }
        (Source::Fitted(_), _) => {
            format!("range: over what fits about as well, an extra line of {} to {}", gap(low), gap(high))
        }
    }
}

fn range((low, high): (f64, f64)) -> String {
    format!("{}–{}", text::number(low), text::number(high))
}

/// What else may be quickest.
fn rivals(winner: &Quickest) -> String {
    let names: Vec<_> =
        winner.rivals.iter().map(|rival| rival.to_string().replace(" separate-lines", "")).collect();
    if names.is_empty() { "–".into() } else { names.join(", ") }
}

fn fitted(out: &mut impl Write, fit: &Fit) -> io::Result<()> {
    let rows = fit.figures.iter().map(|figure| {
        [
            figure.name.to_owned(),
            text::number(figure.published),
            text::number(figure.fitted),
            figure.left_out.map_or_else(|| "–".into(), text::number),
            figure.error_left_out().map_or_else(|| "–".into(), |error| format!("{:+.0} %", 100.0 * error)),
        ]
    });
    let header = ["fork, join", "published", "fitted", "left out", "error"];
    writeln!(out, "\n{}", table(header, 1, rows.collect()))?;
    let [chip, module, node] = fit.tiers_ns.map(text::number);
    let told = format!(
        "fitted: four parameters to these five figures, so that this column predicts nothing: one-way times of {chip} ns in a \
         chip, {module} in a module, {node} between; an extra line of {} of a one-way time, and {} to {} do about as well. left \
         out: what a fit to the other four figures predicts, and its error",
        text::number(fit.share),
        text::number(fit.shares.0),
        text::number(fit.shares.1)
    );
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

#[cfg(test)]
mod tests {
    use coho_model::barrier::Mapping;
    use coho_profile::Estimate;

    use super::*;

    fn check(basis: Basis) -> Check {
        Check {
            operation: "barrier",
            by: String::new(),
            algorithm: "fbs".into(),
            layout: "separate-lines".into(),
            threads: 4,
            mapping: Mapping::Sequential,
            measured: Estimate::exact(100.0),
            predicted_ns: 110.0,
            basis,
        }
    }

    /// A fit is called one and has no error, and neither word stands where there is none.
    #[test]
    fn what_took_part_in_a_fit_is_no_prediction() {
        let predicted = measured(&[check(Basis::Predicted)]);
        assert!(predicted.contains("+10 %"), "{predicted}");
        assert!(!predicted.contains("fit") && !predicted.contains("left out"), "{predicted}");
        let left_out = measured(&[check(Basis::LeftOut)]);
        assert!(left_out.contains("+10 %") && left_out.contains("110 (left out)"), "{left_out}");
        assert!(!left_out.contains("no prediction"), "{left_out}");
        let fit = measured(&[check(Basis::Fit)]);
        assert!(
            fit.contains("110 (fit)") && fit.contains("no prediction") && !fit.contains("+10 %"),
            "{fit}"
        );
    }
}
