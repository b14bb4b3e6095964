//! Predicted barriers, which of them wins where, and how far measurements are from it.

use coho_model::barrier::{
    Algorithm, Basis, Check, Comparison, Fit, Forecast, Gap, MOST_VARIED, Prediction, Quickest, Source,
    choice_name,
};

use crate::figure::{Figure, Format};
use crate::part::{Body, Cell, Column, Facts, Part, PartList, Row, Table, Text};
use crate::words;

/// So many of each mapping are shown by default, the quickest, and of fork and join.
const QUICKEST: usize = 5;
const QUICKEST_REGIONS: usize = 3;
/// A table of more rows is shown by one mapping first.
const FEW: usize = 14;

/// All of it.
pub fn parts(forecast: &Forecast) -> Vec<Part> {
    let mut parts = Vec::new();
    for limits in &forecast.limits {
        let limit = format!(
            "of {} threads, {}: barrier {} ns, fork and join {} ns",
            forecast.threads,
            limits.mapping,
            words::number(limits.barrier_ns),
            words::number(limits.fork_join_ns)
        );
        parts.summary(Text::labelled("limit", limit));
    }
    parts.summary(predictions("predicted-barriers", "barrier", &forecast.barriers, QUICKEST));
    parts.summary(
        predictions("predicted-fork-join", "fork and join", &forecast.fork_joins, QUICKEST_REGIONS)
            .note(ranges(forecast)),
    );
    parts.summary(winners(&forecast.quickest));
    match &forecast.compared {
        Ok(found) => compared(found).into_iter().for_each(|body| parts.summary(body)),
        Err(why) => parts.summary(Text::new(format!("Not compared: {why}."))),
    }
    if let Some(fit) = &forecast.fit {
        parts.summary(fitted(fit));
    }
    assumptions(forecast).into_iter().for_each(|body| parts.summary(body));
    parts
}

fn predictions(id: &str, title: &str, all: &[Prediction], quickest: usize) -> Table {
    let row = |(index, one): (usize, &Prediction)| {
        let by = one.by.map_or_else(String::new, |by| format!(", by {}", by.name()));
        let range = one.range_ns.map(|(low, high)| format!("{}–{}", words::number(low), words::number(high)));
        let row = Row::new([
            Cell::Text(one.name() + &by),
            one.mapping.to_string().into(),
            one.ns.into(),
            range.map_or(Cell::Nothing, Cell::Text),
            times(one.times_limit),
        ]);
        let quicker = all[..index].iter().filter(|other| other.mapping == one.mapping).count();
        if quicker < quickest || one.algorithm == Algorithm::Fbs { row } else { row.detail() }
    };
    Table::new(id, "")
        .columns([
            Column::text(title),
            Column::text("mapping"),
            Column::figures("", "ns"),
            Column::text("range"),
            Column::figures("× limit", ""),
        ])
        .rows(all.iter().enumerate().map(row))
}

/// The quickest barrier of each team, and the one that the rule takes.
pub(crate) fn winners(winners: &[Quickest]) -> Table {
    let first = winners.first().map(|winner| winner.quickest.mapping);
    let rows = winners.iter().map(|winner| {
        let best = &winner.quickest;
        let rivals: Vec<_> =
            winner.rivals.iter().map(|rival| rival.to_string().replace(" separate-lines", "")).collect();
        let row = Row::new([
            Figure::count(best.threads).into(),
            best.mapping.to_string().into(),
            best.name().trim_end_matches(", separate-lines").into(),
            best.ns.into(),
            times(best.times_limit),
            if rivals.is_empty() { Cell::Nothing } else { rivals.join(", ").into() },
            choice_name(&winner.choice).into(),
            Cell::maybe(winner.choice_ns),
        ]);
        if winners.len() <= FEW || Some(best.mapping) == first { row } else { row.detail() }
    });
    let table = Table::new("predicted-winners", "Which barrier wins where, as predicted")
        .columns([
            Column::figures("threads", ""),
            Column::text("mapping"),
            Column::text("quickest"),
            Column::figures("", "ns"),
            Column::figures("× limit", ""),
            Column::text("or"),
            Column::text("by the rule"),
            Column::figures("", "ns"),
        ])
        .rows(rows)
        .note("By the rule: what coho chooses where nothing was measured.");
    match winners.iter().any(|winner| !winner.rivals.is_empty()) {
        true => table.note("Or: quickest elsewhere in the range of costs; which of them wins is not known."),
        false => table,
    }
}

fn compared(found: &Comparison) -> Vec<Body> {
    let mut bodies = Vec::new();
    if !found.checks.is_empty() {
        bodies.push(measured(&found.checks).into());
    }
    let mut whys: Vec<&str> = found.left_out.iter().map(|row| row.why).collect();
    whys.sort_unstable();
    whys.dedup();
    for why in whys {
        let of_why = found.left_out.iter().filter(|row| row.why == why);
        let mut names: Vec<&str> = of_why.map(|row| &*row.algorithm).collect();
        names.dedup();
        bodies.push(Text::new(format!("Not predicted: {}: {why}.", names.join(", "))).into());
    }
    bodies
}

/// Each measured time beside its prediction.
pub(crate) fn measured(checks: &[Check]) -> Table {
    let rows = checks.iter().map(|check| {
        let layout = if check.layout.is_empty() { String::new() } else { format!(", {}", check.layout) };
        let operation = if check.operation == "fork-join" { "fork, join: " } else { "" };
        let mark = match check.basis {
            Basis::Predicted => "",
            Basis::LeftOut => " (left out)",
            Basis::Fit => " (fit)",
        };
        // What a fit leaves says nothing of predictions.
        let error = (check.basis != Basis::Fit).then(|| format!("{:+.0} %", 100.0 * check.error()));
        Row::new([
            Cell::Text(format!("{operation}{}{layout}", check.algorithm)),
            Figure::count(check.threads).into(),
            check.mapping.to_string().into(),
            Cell::Figure(Figure::from(&check.measured)),
            Cell::Text(words::number(check.predicted_ns) + mark),
            error.map_or(Cell::Nothing, Cell::Text),
        ])
    });
    let as_figures = |name: &str| Column { is_figures: true, ..Column::text(name) };
    let mut table = Table::new("predicted-and-measured", "")
        .columns([
            Column::text("measured"),
            Column::figures("threads", ""),
            Column::text("mapping"),
            Column::figures("", "ns"),
            as_figures("predicted"),
            as_figures("error"),
        ])
        .rows(rows);
    let has = |basis| checks.iter().any(|check| check.basis == basis);
    if has(Basis::LeftOut) {
        table = table.note(
            "Left out: predicted with an extra line that was fitted to other teams, by number of threads and mapping.",
        );
    }
    if has(Basis::Fit) {
        table = table.note("Fit: the extra line was fitted to this very time, so it is no prediction.");
    }
    table
}

/// Over what the ranges of times go.
fn ranges(forecast: &Forecast) -> String {
    let extra_line = &forecast.machine.extra_line;
    let [low, high] = extra_line.range;
    if forecast.threads > MOST_VARIED {
        return format!("Range: not tried for more than {MOST_VARIED} threads.");
    }
    let gap = |gap: Gap| match (gap.ns, gap.of_latency) {
        (ns, 0.0) => format!("{} ns", words::number(ns)),
        (_, 1.0) => "a whole one-way time".to_owned(),
        (_, share) => format!("{} of a one-way time", words::number(share)),
    };
    let (low_gap, high_gap) = (gap(low), gap(high));
    match (&extra_line.source, low == high) {
        (_, true) => "Range: none, because the cost of an extra line is taken as known.".into(),
        (Source::Assumed(_), _) => {
            format!("Range: if an extra line costs from {low_gap} to {high_gap}; it was not measured here.")
        }
        (Source::Measured(_), _) => {
            format!("Range: over the interval of the extra line, {low_gap} to {high_gap}.")
        }
        (Source::Fitted(_), _) => {
            format!("Range: over extra lines that fit about as well, {low_gap} to {high_gap}.")
        }
    }
}

fn fitted(fit: &Fit) -> Table {
    let rows = fit.figures.iter().map(|figure| {
        let error = figure.error_left_out().map(|error| format!("{:+.0} %", 100.0 * error));
        Row::new([
            figure.name.into(),
            figure.published.into(),
            figure.fitted.into(),
            Cell::maybe(figure.left_out),
            error.map_or(Cell::Nothing, Cell::Text),
        ])
    });
    let [chip, module, node] = fit.tiers_ns.map(words::number);
    Table::new("fitted-latencies", "")
        .columns([
            Column::text("fork and join"),
            Column::figures("published", ""),
            Column::figures("fitted", ""),
            Column::figures("left out", ""),
            Column { is_figures: true, ..Column::text("error") },
        ])
        .rows(rows)
        .note(format!(
            "Fitted: four parameters to these five figures, so this column predicts nothing: one-way times of {chip} \
             ns in a chip, {module} in a module, {node} between modules; an extra line of {} of a one-way time ({} to \
             {} do about as well). Left out: what a fit to the other four figures predicts, and its error.",
            words::number(fit.share),
            words::number(fit.shares.0),
            words::number(fit.shares.1)
        ))
}

/// Where the model's figures come from.
fn assumptions(forecast: &Forecast) -> Vec<Body> {
    let machine = &forecast.machine;
    let extra = match machine.extra_line.of_latency {
        0.0 => format!("{} ns", words::number(machine.extra_line.ns)),
        share => format!("{} of its one-way time", words::number(share)),
    };
    let facts = [
        ("latencies", machine.latency_source.to_string()),
        ("an extra line", format!("{extra}, {}", machine.extra_line.source)),
        ("a thread's own work", format!("{} ns, {}", words::number(machine.local.ns), machine.local.source)),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let title = "What the predictions rest on".to_owned();
    let mut bodies: Vec<Body> = vec![Facts { id: "predicted-from", title, facts, compared: false }.into()];
    let unbuilt = [Algorithm::Tree, Algorithm::Leaders];
    if forecast.barriers.iter().any(|prediction| unbuilt.contains(&prediction.algorithm)) {
        let note = "In \"tree\", each node has four children, as in tournament-4 up to four threads; in \"leaders\", \
                    each group reports to one thread, and these threads run FBS. Both are there only for comparison; \
                    neither can be chosen as a barrier.";
        bodies.push(Text::new(note).into());
    }
    bodies.extend(machine.notes.iter().map(|note| Body::from(Text::new(note.clone()))));
    bodies
}

fn times(times: f64) -> Cell {
    Figure::exact(times).format(Format::Printed).into()
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
        let of = |basis| format!("{:?}", measured(&[check(basis)]));
        let predicted = of(Basis::Predicted);
        assert!(predicted.contains("+10 %"), "{predicted}");
        assert!(!predicted.contains("(fit)") && !predicted.contains("left out"), "{predicted}");
        let left_out = of(Basis::LeftOut);
        assert!(left_out.contains("+10 %") && left_out.contains("110 (left out)"), "{left_out}");
        assert!(!left_out.contains("no prediction"), "{left_out}");
        let fit = of(Basis::Fit);
        assert!(
            fit.contains("110 (fit)") && fit.contains("no prediction") && !fit.contains("+10 %"),
            "{fit}"
        );
    }
}
