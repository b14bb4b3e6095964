//! Predicted barriers, which of them wins where, and how far measurements are from it.

use std::fmt::Display;

use coho_model::barrier::{
    Algorithm, Basis, Check, Comparison, Fit, Forecast, Gap, MOST_VARIED, Prediction, Quickest, Source,
    choice_name,
};

use crate::sections::prelude::*;

/// How many of each mapping are shown by default: barriers, and ways of fork and join.
const QUICKEST: usize = 5;
const QUICKEST_REGIONS: usize = 3;
/// A longer table is shown by one mapping first.
const FEW: usize = 14;

/// All of it.
pub fn parts(forecast: &Forecast) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(forecast.limits.iter().map(|limits| {
        let [barrier, fork_join] = [limits.barrier, limits.fork_join].map(|limit| words::number(limit.0));
        let team = format!("{} threads, {}", forecast.threads, limits.mapping);
        Text::labelled("limit", format!("of {team}: barrier {barrier} ns, fork and join {fork_join} ns"))
    }));
    parts.summary(predictions("predicted-barriers", "barrier", &forecast.barriers, QUICKEST));
    parts.summary(
        predictions("predicted-fork-join", "fork and join", &forecast.fork_joins, QUICKEST_REGIONS)
            .note(ranges(forecast)),
    );
    parts.summary(winners(&forecast.quickest));
    if let Ok(comparison) = &forecast.compared {
        compared(&mut parts, comparison);
    }
    parts.summary(not_compared(&forecast.compared));
    parts.summary(forecast.fit.as_ref().map(fitted));
    assumptions(&mut parts, forecast);
    parts
}

fn predictions<'a>(
    id: &str,
    title: &str,
    all: &'a [Prediction],
    quickest: usize,
) -> TableOf<(usize, &'a Prediction)> {
    Table::of(id, "", all.iter().enumerate())
        .text(title, |(_, one)| {
            one.name() + &one.by.map_or(String::new(), |by| format!(", by {}", by.name()))
        })
        .text("mapping", |(_, one)| one.mapping.to_string())
        .figures("", "ns", |(_, one)| one.time.0)
        .text("range", |(_, one)| {
            one.range.map(|(low, high)| format!("{}–{}", words::number(low.0), words::number(high.0)))
        })
        .figures("× limit", "", |(_, one)| Format::Printed.of(one.times_limit))
        .detail_if(|(index, one)| {
            let quicker = all[..index].iter().filter(|other| other.mapping == one.mapping).count();
            quicker >= quickest && one.algorithm != Algorithm::Fbs
        })
}

/// The quickest barrier of each team, and the one that the rule takes.
pub(crate) fn winners(winners: &[Quickest]) -> TableOf<&Quickest> {
    let rivals = |winner: &Quickest| {
        let names = winner.rivals.iter().map(|rival| rival.to_string().replace(" separate-lines", ""));
        (!winner.rivals.is_empty()).then(|| names.collect::<Vec<_>>().join(", "))
    };
    Table::of("predicted-winners", "Which barrier wins where, as predicted", winners)
        .figures("threads", "", |winner| winner.quickest.threads)
        .text("mapping", |winner| winner.quickest.mapping.to_string())
        .text("quickest", |winner| winner.quickest.name().trim_end_matches(", separate-lines").to_owned())
        .figures("", "ns", |winner| winner.quickest.time.0)
        .figures("× limit", "", |winner| Format::Printed.of(winner.quickest.times_limit))
        .text("or", rivals)
        .text("by the rule", |winner| choice_name(&winner.choice))
        .figures("", "ns", |winner| Some(winner.choice_time?.0))
        .detail_if(|winner| winners.len() > FEW && winner.quickest.mapping != winners[0].quickest.mapping)
        .note("By the rule: what coho chooses where nothing was measured.")
        .note_if(
            winners.iter().any(|winner| !winner.rivals.is_empty()),
            "Or: quickest elsewhere in the range of costs; which of them wins is not known.",
        )
}

/// Why measured times do not stand beside predicted ones.
pub(crate) fn not_compared<E: Display>(compared: &Result<Comparison, E>) -> Option<Text> {
    compared.as_ref().err().map(|why| Text::new(format!("Not comparable with what was measured: {why}.")))
}

fn compared(parts: &mut Vec<Part>, comparison: &Comparison) {
    parts.summary(measured(&comparison.checks));
    let left_out = distinct(comparison.left_out.iter().map(|row| (row.algorithm.as_str(), row.why)));
    let left_out = Missing::by_reason(left_out).into_iter();
    parts.summary(left_out.map(|one| Text::new(format!("Not predicted: {}: {}.", one.what, one.why))));
}

/// Each measured time beside its prediction.
pub(crate) fn measured(checks: &[Check]) -> TableOf<&Check> {
    let has = |basis| checks.iter().any(|check| check.basis == basis);
    Table::of("predicted-and-measured", "", checks)
        .text("measured", |check| {
            let operation = if check.operation == "fork-join" { "fork, join: " } else { "" };
            format!("{operation}{}", words::barrier(&check.algorithm, &check.layout))
        })
        .figures("threads", "", |check| check.threads)
        .text("mapping", |check| check.mapping.to_string())
        .figures("", "ns", |check| Figure::from(&check.measured))
        .right("predicted", |check| {
            let mark = match check.basis {
                Basis::Predicted => "",
                Basis::LeftOut => " (left out)",
                Basis::Fit => " (fit)",
            };
            words::number(check.predicted.0) + mark
        })
        // The error of a fit says nothing about predictions.
        .right("error", |check| (check.basis != Basis::Fit).then(|| percent(check.error())))
        .note_if(
            has(Basis::LeftOut),
            "Left out: predicted with an extra line that was fitted to other teams, by number of threads and mapping.",
        )
        .note_if(
            has(Basis::Fit),
            "Fit: the extra line was fitted to this very time, so it is no prediction.",
        )
}

fn percent(error: f64) -> String {
    format!("{} %", signs::change(100.0 * error, 0))
}

/// What the ranges of times cover.
fn ranges(forecast: &Forecast) -> String {
    if forecast.threads > MOST_VARIED {
        return format!("Range: not tried for more than {MOST_VARIED} threads.");
    }
    let gap = |gap: Gap| match gap.of_latency {
        0.0 => format!("{} ns", words::number(gap.fixed.0)),
        1.0 => "a whole one-way time".to_owned(),
        share => format!("{} of a one-way time", words::number(share)),
    };
    let extra_line = &forecast.machine.extra_line;
    let [low, high] = extra_line.range;
    let (from, to) = (gap(low), gap(high));
    match &extra_line.source {
        _ if low == high => "Range: none, because the cost of an extra line is taken as known.".into(),
        Source::Assumed(_) => {
            format!("Range: if an extra line costs from {from} to {to}; it was not measured here.")
        }
        Source::Measured(_) => format!("Range: over the interval of the extra line, {from} to {to}."),
        Source::Fitted(_) => format!("Range: over extra lines that fit about as well, {from} to {to}."),
    }
}

fn fitted(fit: &Fit) -> impl Bodies {
    let [chip, module, node] = fit.tiers.map(|one_way| words::number(one_way.0));
    let [share, least, most] = [fit.share, fit.shares.0, fit.shares.1].map(words::number);
    Table::of("fitted-latencies", "", &fit.figures)
        .text("fork and join", |figure| figure.name)
        .figures("published", "", |figure| figure.published)
        .figures("fitted", "", |figure| figure.fitted)
        .figures("left out", "", |figure| figure.left_out)
        .right("error", |figure| figure.error_left_out().map(percent))
        .note(format!(
            "Fitted: four parameters to these five figures, so this column predicts nothing: one-way times of {chip} \
             ns in a chip, {module} in a module, {node} between modules; an extra line of {share} of a one-way time \
             ({least} to {most} do about as well). Left out: what a fit to the other four figures predicts, and its \
             error."
        ))
}

/// Where the model's figures come from.
fn assumptions(parts: &mut Vec<Part>, forecast: &Forecast) {
    let machine = &forecast.machine;
    let extra = match machine.extra_line.of_latency {
        0.0 => format!("{} ns", words::number(machine.extra_line.fixed.0)),
        share => format!("{} of its one-way time", words::number(share)),
    };
    let own_work = format!("{} ns, {}", words::number(machine.local.time.0), machine.local.source);
    parts.summary(Facts::new("predicted-from", "What the predictions rest on").facts([
        ("latencies", machine.latency_source.to_string()),
        ("an extra line", format!("{extra}, {}", machine.extra_line.source)),
        ("a thread's own work", own_work),
    ]));
    let unbuilt = [Algorithm::Tree, Algorithm::Leaders];
    if forecast.barriers.iter().any(|prediction| unbuilt.contains(&prediction.algorithm)) {
        parts.summary(Text::new(
            "In \"tree\", each node has four children, as in tournament-4 up to four threads; in \"leaders\", each \
             group reports to one thread, and these threads run FBS. Both are there only for comparison; neither can \
             be chosen as a barrier.",
        ));
    }
    parts.summary(machine.notes.iter().map(Text::new));
}

#[cfg(test)]
mod tests {
    use coho_model::barrier::Mapping;
    use coho_profile::{Estimate, Ns};

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
            predicted: Ns(110.0),
            basis,
        }
    }

    #[test]
    fn what_cannot_be_compared_has_a_reason_and_no_error() {
        let why = "the farthest pair took 107 ns one way while pairs were measured, and 26.3 ns while barriers were";
        let told = format!("{:?}", not_compared(&Err(why)));
        assert!(told.contains("Not comparable") && told.contains("26.3 ns") && !told.contains('%'), "{told}");
        assert!(not_compared(&Ok::<_, &str>(Comparison::default())).is_none());
    }

    /// A fit is called a fit and has no error; where there is none, neither word appears.
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
