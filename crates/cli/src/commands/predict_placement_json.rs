//! What `coho predict placement --json` prints.

use coho_model::placement::{Assumed, Check, Checked, Costs, Outcome, Range, Ratio, Sign, View};
use serde_json::{Value, json};

/// Everything that was predicted for a machine.
pub fn outcome(outcome: &Outcome) -> Value {
    let first = outcome.views.first().map_or("", |view| view.name.as_str());
    let predictions = outcome.predictions.iter().map(|prediction| {
        let ratio = outcome.under(prediction, first).and_then(|base| prediction.over(base));
        let stats = &prediction.stats;
        let wakes: u64 = stats.wakes.iter().sum();
        let share = |count: u64| if wakes > 0 { Some(count as f64 / wakes as f64) } else { None };
        json!({
            "workload": prediction.workload.name(),
            "topology": prediction.view,
            "per_s": prediction.rate().map(range),
            "ratio": ratio.map(range),
            "sign": ratio.map(|ratio| sign_name(ratio.sign())),
            "wakes": {
                "same_cpu": share(stats.wakes[0]), "same_l2": share(stats.wakes[1]),
                "same_l3": share(stats.wakes[2]), "far": share(stats.wakes[3]), "halted": share(stats.halted),
            },
        })
    });
    let ratios = outcome.ratios();
    let contrasts = ratios.iter().flat_map(|&Ratio { over, under }| {
            outcome.of_view(over).filter_map(move |prediction| {
                let ratio = prediction.over(outcome.under(prediction, under)?)?;
                Some(json!({
                    "workload": prediction.workload.name(), "contrast": format!("{over}/{under}"), "ratio": range(ratio),
                    "sign": sign_name(ratio.sign()),
                }))
            })
        });
    let findings = outcome.findings.iter().map(|finding| {
            let [on, off] = finding.measured.percent();
            json!({
                "test": finding.measured.test, "c6_on_percent": on, "c6_off_percent": off,
                "beyond_noise": finding.measured.beyond_noise,
                "measured_sign": sign_name(finding.measured_sign()), "predicted_sign": sign_name(finding.both.sign()),
                "tree": range(finding.tree), "flag": range(finding.flag), "both": range(finding.both),
                "predicted_percent": 100.0 * (finding.both.median - 1.0), "size_holds": finding.size_holds(),
                "verdict": finding.verdict().words(),
            })
        });
    let view = |view: &View| json!({ "name": view.name, "shape": view.shape });
    let missing: serde_json::Map<String, Value> =
        outcome.not_available.iter().map(|(name, why)| (name.clone(), why.clone().into())).collect();
    json!({
            "machine": outcome.machine,
            "topologies": outcome.views.iter().map(view).collect::<Vec<_>>(),
            "predictions": predictions.collect::<Vec<_>>(),
            "contrasts": contrasts.collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
            "check": outcome.checked.as_ref().map_or_else(|why| json!({ "not_available": why }), check),
            "method": {
                "runs": outcome.runs, "seed": outcome.seed,
                "measured_pairs": outcome.measured_pairs.0, "pairs": outcome.measured_pairs.1,
                "condition": outcome.condition,
                "costs": costs_json(&outcome.costs),
                "not_available": missing,
            },
    })
}

fn range(range: Range) -> Value {
    json!({ "median": range.median, "low": range.low, "high": range.high })
}

fn costs_json(costs: &Costs) -> Value {
    let cost = |cost: &Assumed| {
        let (low, high) = cost.range;
        json!({ "name": cost.name, "value": cost.value, "low": low, "high": high, "source": cost.source })
    };
    costs.all().iter().map(cost).collect()
}

/// The simulator compared with a machine's own programs.
pub fn check(checked: &Checked) -> Value {
    let row = |row: &Check| {
        json!({
            "test": row.test, "fitted_on_one_cpu": row.one, "measured_on_two_cpus": row.two,
            "measured_ratio": range(row.measured), "predicted_ratio": range(row.predicted), "error": row.error(),
            "agrees": row.agrees(),
        })
    };
    let missing: serde_json::Map<String, Value> =
        checked.not_available.iter().map(|(test, why)| ((*test).to_owned(), why.clone().into())).collect();
    json!({
        "cpus": checked.cpus,
        "rows": checked.checks.iter().map(row).collect::<Vec<_>>(),
        "costs": costs_json(&checked.costs),
        "busy_before": checked.busy,
        "not_available": missing,
    })
}

fn sign_name(sign: Sign) -> &'static str {
    match sign {
        Sign::Up => "up",
        Sign::Down => "down",
        Sign::None => "none",
        Sign::Unsure => "unsure",
    }
}
