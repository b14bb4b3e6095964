//! What a scheduler's idea of a machine does to programs, for people and for scripts.

use std::io::{self, Write};

use coho_model::placement::{Assumed, Check, Checked, Costs, Finding, Prediction, Range, Sign, View};
use serde_json::{Value, json};

use super::table::{dense, wrapped};
use crate::report::text;

/// How often each workload runs, with other costs out of their ranges each time, where nothing else is asked for: the
/// command and the report come to the same verdicts.
pub const RUNS: u32 = 16;
/// Seed of these.
pub const SEED: u64 = 1;
/// The share of the CPUs' time from which on other work is worth telling.
const BUSY: f64 = 0.1;

/// Everything that was predicted of a machine.
pub struct Placement {
    pub machine: String,
    /// Pairs of CPUs whose lines' time is measured, and all pairs.
    pub measured_pairs: (usize, usize),
    /// The condition under which those times hold.
    pub condition: Option<String>,
    pub views: Vec<View>,
    pub predictions: Vec<Prediction>,
    /// Beside what the article measured, on its machine.
    pub findings: Vec<Finding>,
    /// The simulator beside the machine's own programs, or why it was not held against any.
    pub checked: Result<Checked, String>,
    pub costs: Costs,
    pub runs: u32,
    pub seed: u64,
    /// Views that could not be had, and why.
    pub not_available: Vec<(String, String)>,
}

/// Change of a ratio in per cent, with its range.
pub fn change(ratio: Range) -> String {
    if ratio.sign() == Sign::None {
        return "0".to_owned();
    }
    let percent = |ratio: f64| {
        let percent = (100.0 * (ratio - 1.0)).round();
        if percent == 0.0 { "0".to_owned() } else { format!("{percent:+.0}").replace('-', "−") }
    };
    format!("{} ({}…{})", percent(ratio.median), percent(ratio.low), percent(ratio.high))
}

/// A sign in a character.
pub fn sign(sign: Sign) -> &'static str {
    match sign {
        Sign::Up => "+",
        Sign::Down => "−",
        Sign::None => "0",
        Sign::Unsure => "?",
    }
}

impl Placement {
    fn of_view(&self, name: &str) -> impl Iterator<Item = &Prediction> {
        self.predictions.iter().filter(move |prediction| prediction.view == name)
    }

    /// A prediction's workload under another view.
    fn under(&self, prediction: &Prediction, view: &str) -> Option<&Prediction> {
        self.of_view(view).find(|other| other.workload == prediction.workload)
    }

    /// Views to divide, by the names of their columns; what the patch does comes apart where the control is known.
    fn ratios(&self) -> Vec<(String, &str, &str)> {
        let names: Vec<&str> = self.views.iter().map(|view| view.name.as_str()).collect();
        let Some((&first, others)) = names.split_first() else { return Vec::new() };
        let mut ratios: Vec<(String, &str, &str)> =
            others.iter().map(|&view| (format!("{view}/\n{first}"), view, first)).collect();
        if first == "stock" && names.contains(&"control") && names.contains(&"patched") {
            ratios.insert(1.min(ratios.len()), ("patched/\ncontrol".into(), "patched", "control"));
        }
        ratios
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let first = self.views.first().map_or("", |view| view.name.as_str());
        let predictions = self.predictions.iter().map(|prediction| {
            let ratio = self.under(prediction, first).and_then(|base| prediction.over(base));
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
        let ratios = self.ratios();
        let contrasts = ratios.iter().flat_map(|(name, over, under)| {
            self.of_view(over).filter_map(move |prediction| {
                let ratio = prediction.over(self.under(prediction, under)?)?;
                Some(json!({
                    "workload": prediction.workload.name(), "contrast": name.replace('\n', ""), "ratio": range(ratio),
                    "sign": sign_name(ratio.sign()),
                }))
            })
        });
        let findings = self.findings.iter().map(|finding| {
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
            self.not_available.iter().map(|(name, why)| (name.clone(), why.clone().into())).collect();
        json!({
            "machine": self.machine,
            "topologies": self.views.iter().map(view).collect::<Vec<_>>(),
            "predictions": predictions.collect::<Vec<_>>(),
            "contrasts": contrasts.collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
            "check": self.checked.as_ref().map_or_else(|why| json!({ "not_available": why }), check_json),
            "method": {
                "runs": self.runs, "seed": self.seed,
                "measured_pairs": self.measured_pairs.0, "pairs": self.measured_pairs.1,
                "condition": self.condition,
                "costs": costs_json(&self.costs),
                "not_available": missing,
            },
        })
    }
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

/// The simulator beside a machine's own programs, for scripts.
pub fn check_json(checked: &Checked) -> Value {
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

/// The same for people.
pub fn check(out: &mut impl Write, checked: &Checked) -> io::Result<()> {
    check_table(out, checked)?;
    costs(out, &checked.costs)
}

fn check_table(out: &mut impl Write, checked: &Checked) -> io::Result<()> {
    let rows = checked.checks.iter().map(|row| {
        let ratio = |ratio: Range| text::with_interval(ratio.median, Some((ratio.low, ratio.high)));
        vec![
            row.test.to_owned(),
            ratio(row.predicted),
            ratio(row.measured),
            format!("{:+.0} %", 100.0 * row.error()).replace('-', "−"),
            if row.agrees() { "yes" } else { "no" }.to_owned(),
        ]
    });
    let [a, b] = checked.cpus;
    let header = ["two CPUs / one", "predicted", "measured here", "error", "within"];
    writeln!(out, "\n{}", dense(&header, 1, rows.collect()))?;
    let agree = checked.checks.iter().filter(|row| row.agrees()).count();
    let what = format!(
        "Rates of programs held to CPUs {a} and {b} over those held to one CPU. How long they compute is fitted to the latter; what \
         the second CPU does is predicted, {agree} of {} within range. Where programs may choose, the simulator places them as \
         ULE would, and this machine as its kernel does.",
        checked.checks.len()
    );
    writeln!(out, "{}", wrapped("", &what))?;
    let missed: Vec<&str> = checked.checks.iter().filter(|row| !row.agrees()).map(|row| row.test).collect();
    if !missed.is_empty() {
        let what =
            format!("Not borne out on this machine: what the simulator says of {}.", missed.join(", "));
        writeln!(out, "{}", wrapped("", &what))?;
    }
    if let Some(busy) = checked.busy.filter(|busy| *busy > BUSY) {
        let what = format!(
            "Other work took {:.0} % of the CPUs when the programs began, which the simulator knows nothing of: the second \
             CPU was not theirs alone. `coho bench` on a quiet machine tells more.",
            100.0 * busy
        );
        writeln!(out, "{}", wrapped("", &what))?;
    }
    for (test, why) in &checked.not_available {
        writeln!(out, "{}", wrapped("", &format!("not checked: {test}: {}", text::tame(why))))?;
    }
    Ok(())
}

fn sign_name(sign: Sign) -> &'static str {
    match sign {
        Sign::Up => "up",
        Sign::Down => "down",
        Sign::None => "none",
        Sign::Unsure => "unsure",
    }
}

/// Writes the tables.
pub fn write(out: &mut impl Write, placement: &Placement, why: bool) -> io::Result<()> {
    writeln!(out, "{}", wrapped("", &format!("ULE on {}", text::tame(&placement.machine))))?;
    for view in &placement.views {
        writeln!(out, "  {:8} {}", view.name, view.shape)?;
    }
    for (name, why) in &placement.not_available {
        writeln!(
            out,
            "{}",
            wrapped(&format!("  {name:8} "), &format!("not available: {}", text::tame(why)))
        )?;
    }
    match &placement.checked {
        Ok(checked) => check_table(out, checked)?,
        Err(why) => {
            writeln!(out, "{}", wrapped("  ", &format!("not checked on this machine: {}", text::tame(why))))?
        }
    }
    rates(out, placement)?;
    if why {
        wakes(out, placement)?;
    }
    if !placement.findings.is_empty() {
        findings(out, &placement.findings)?;
    }
    assumptions(out, placement)
}

fn rates(out: &mut impl Write, placement: &Placement) -> io::Result<()> {
    let ratios = placement.ratios();
    let Some(first) = placement.views.first() else { return Ok(()) };
    let mut header = vec!["workload"];
    if ratios.is_empty() {
        header.push("a second");
    }
    header.extend(ratios.iter().map(|(name, ..)| name.as_str()));
    let rows = placement.of_view(&first.name).map(|base| {
        let mut row = vec![base.workload.name()];
        if ratios.is_empty() {
            let rate = base.rate().map(|rate| text::with_interval(rate.median, Some((rate.low, rate.high))));
            row.push(rate.unwrap_or("–".into()));
        }
        row.extend(ratios.iter().map(|(_, over, under)| {
            let ratio = placement.under(base, over).zip(placement.under(base, under));
            ratio.and_then(|(over, under)| over.over(under)).map_or("–".into(), change)
        }));
        row
    });
    writeln!(out, "\n{}", dense(&header, 1, rows.collect()))?;
    let runs = placement.runs;
    let what = match ratios.is_empty() {
        true => format!("Rate, and where 95 % of {runs} runs lie."),
        false => format!(
            "Change of the rate in per cent, and where 95 % of {runs} runs lie, each with its own costs; 0: within 1 % in all."
        ),
    };
    writeln!(out, "{}", wrapped("", &what))
}

fn wakes(out: &mut impl Write, placement: &Placement) -> io::Result<()> {
    let rows = placement.predictions.iter().map(|prediction| {
        let stats = &prediction.stats;
        let all = stats.wakes.iter().sum::<u64>().max(1) as f64;
        let share = |count: u64| format!("{:.0}", 100.0 * count as f64 / all);
        let near = stats.wakes[..2].iter().sum();
        vec![
            prediction.workload.name(),
            prediction.view.clone(),
            share(near),
            share(stats.halted),
            share(stats.moves),
        ]
    });
    let header = ["workload", "topology", "near, %", "halted, %", "moved, %"];
    writeln!(out, "\n{}", dense(&header, 2, rows.collect()))?;
    let what = "Of the times that one task woke another: put on the same CPU or one of the same core, module or L2; on a \
                CPU that had halted; run elsewhere than before.";
    writeln!(out, "{}", wrapped("", what))
}

fn findings(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    let rows = findings.iter().map(|finding| {
        let percent = finding.measured.percent().map(|percent| format!("{percent:+.1}").replace('-', "−"));
        let [on, off] = percent;
        vec![
            finding.measured.test.to_owned(),
            finding.verdict().words().to_owned(),
            sign(finding.both.sign()).to_owned(),
            change(finding.both),
            sign(finding.measured_sign()).to_owned(),
            on,
            off,
        ]
    });
    let header = ["article: patched/\nstock", "verdict", "model", "%", "found", "C6 on", "off, %"];
    writeln!(out, "\n{}", dense(&header, 2, rows.collect()))?;
    for told in findings.iter().filter_map(Finding::size) {
        writeln!(out, "{}", wrapped("", &told))?;
    }
    let what = "Found: 0 where the two pairs' mean change does not exceed twice the noise that they show. Model: ? where it \
                depends on costs that are not known. The simulator knows no clock, disk, or capacity of caches.";
    writeln!(out, "{}", wrapped("", what))
}

/// What the simulator takes each step to cost.
fn costs(out: &mut impl Write, costs: &Costs) -> io::Result<()> {
    writeln!(out, "\nAssumed, unless measured:")?;
    for cost in costs.all() {
        let range = text::with_interval(cost.value, Some(cost.range));
        writeln!(out, "{}", wrapped(&format!("  {:18} ", cost.name), &format!("{range}: {}", cost.source)))?;
    }
    Ok(())
}

fn assumptions(out: &mut impl Write, placement: &Placement) -> io::Result<()> {
    costs(out, &placement.costs)?;
    let (measured, pairs) = placement.measured_pairs;
    writeln!(out, "Lines' times are measured for {measured} of {pairs} pairs of CPUs.")?;
    placement
        .condition
        .iter()
        .try_for_each(|condition| writeln!(out, "{}", wrapped("", &text::tame(condition))))
}
