//! What a scheduler's idea of a machine does to programs, and how far the simulator is borne out by this machine's own.

use coho_model::placement::{Checked, Costs, Finding, Outcome, Range, Ratio, Sign};

use crate::figure::Figure;
use crate::part::{Cell, Column, Missing, Part, PartList, Row, Table, Text};
use crate::words;

/// The share of the CPUs' time from which on other work is worth telling.
const BUSY: f64 = 0.1;

/// Change of a ratio in per cent, with its range.
pub fn change(ratio: Range) -> String {
    if ratio.sign() == Sign::None {
        return "0".to_owned();
    }
    let percent = |ratio: f64| match (100.0 * (ratio - 1.0)).round() {
        0.0 => "0".to_owned(),
        percent => format!("{percent:+.0}").replace('-', "−"),
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

fn within(range: Range) -> Figure {
    Figure::within(range.median, Some((range.low, range.high)), 0)
}

/// A column of figures with words.
fn figures(name: impl Into<String>) -> Column {
    Column { is_figures: true, ..Column::text(name) }
}

/// All that was predicted of a machine; `why` also tells where tasks were put.
pub fn outcome(outcome: &Outcome, why: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(Text::new(format!("ULE on {}", words::short(&outcome.machine, 200))));
    for view in &outcome.views {
        parts.summary(Text::labelled(view.name.clone(), view.shape.clone()));
    }
    for (name, why) in &outcome.not_available {
        parts.summary(Missing { what: name.clone(), why: words::reason(why) });
    }
    match &outcome.checked {
        Ok(checked) => parts.extend(beside(checked)),
        Err(why) => {
            let line = format!("not checked on this machine: {}", words::short(why, 600));
            parts.summary(Text::new(line));
        }
    }
    parts.summary(rates(outcome));
    if why {
        parts.summary(wakes(outcome));
    }
    if !outcome.findings.is_empty() {
        parts.extend(explained(&outcome.findings));
    }
    parts.summary(costs(&outcome.costs));
    let (measured, pairs) = outcome.measured_pairs;
    parts.summary(Text::new(format!(
        "Line transfer times are measured for {measured} of {pairs} pairs of CPUs."
    )));
    if let Some(condition) = &outcome.condition {
        parts.summary(Text::new(words::short(condition, 600)));
    }
    parts
}

fn rates(outcome: &Outcome) -> Option<Table> {
    let ratios = outcome.ratios();
    let first = outcome.views.first()?;
    let rows = outcome.of_view(&first.name).map(|base| {
        let alone = ratios.is_empty().then(|| Cell::maybe(base.rate().map(within)));
        let ratio = |ratio: &Ratio<'_>| {
            let both = outcome.under(base, ratio.over).zip(outcome.under(base, ratio.under));
            both.and_then(|(over, under)| over.over(under)).map_or(Cell::Nothing, |one| change(one).into())
        };
        let name = std::iter::once(base.workload.name().into());
        Row::new(name.chain(alone).chain(ratios.iter().map(ratio)))
    });
    let table = Table::new("ule-rates", "").columns([Column::text("workload")]).rows(rows);
    let runs = outcome.runs;
    Some(if ratios.is_empty() {
        let note = format!("Rate, and the range of 95 % of {runs} runs.");
        table.columns([Column::figures("a second", "")]).note(note)
    } else {
        let names = ratios.iter().map(|ratio| figures(format!("{}/ {}", ratio.over, ratio.under)));
        table.columns(names).note(format!(
            "Change of the rate in per cent, and the range of 95 % of {runs} runs, each with its own costs; 0: within \
             1 % in all."
        ))
    })
}

fn wakes(outcome: &Outcome) -> Table {
    let rows = outcome.predictions.iter().map(|prediction| {
        let stats = &prediction.stats;
        let all = stats.wakes.iter().sum::<u64>().max(1) as f64;
        let share = |count: u64| Cell::from(format!("{:.0}", 100.0 * count as f64 / all));
        let near = stats.wakes[..2].iter().sum();
        let names = [prediction.workload.name().into(), prediction.view.clone().into()];
        Row::new(names.into_iter().chain([near, stats.halted, stats.moves].map(share)))
    });
    Table::new("ule-wakes", "")
        .columns([Column::text("workload"), Column::text("topology")])
        .columns(["near, %", "halted, %", "moved, %"].map(figures))
        .rows(rows)
        .note(
            "Shares of the wake-ups of one task by another. Near: on the same CPU or one of the same core, module or \
             L2; halted: on a CPU that had halted; moved: on another CPU than before.",
        )
}

/// What ULE's rules say of the tests that Kimoto measured.
fn explained(findings: &[Finding]) -> Vec<Part> {
    let rows = findings.iter().map(|finding| {
        let percent = finding.measured.percent().map(|percent| format!("{percent:+.1}").replace('-', "−"));
        let words = [
            finding.measured.test.into(),
            finding.verdict().words().into(),
            sign(finding.both.sign()).into(),
            change(finding.both).into(),
            sign(finding.measured_sign()).into(),
        ];
        Row::new(words.into_iter().chain(percent.map(Cell::from)))
    });
    let mut parts = Vec::new();
    parts.summary(
        Table::new("ule-article", "Kimoto's tests: patched / stock")
            .columns([Column::text("test"), Column::text("verdict")])
            .columns(["model", "%", "found", "C6 on", "off, %"].map(figures))
            .rows(rows)
            .note(
                "Found: 0 if the two pairs' mean change is not above twice their noise. Model: ? if it depends on \
                 unknown costs. The simulator models no clock, disk or cache capacity.",
            ),
    );
    for size in findings.iter().filter_map(Finding::size) {
        parts.summary(Text::new(size));
    }
    parts
}

/// The simulator beside a machine's own programs, and what it takes steps to cost.
pub fn check(checked: &Checked) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(beside(checked));
    parts.summary(costs(&checked.costs));
    parts
}

/// The simulator beside a machine's own programs.
pub(super) fn beside(checked: &Checked) -> Vec<Part> {
    let rows = checked.checks.iter().map(|row| {
        Row::new([
            row.test.into(),
            within(row.predicted).into(),
            within(row.measured).into(),
            format!("{:+.0} %", 100.0 * row.error()).replace('-', "−").into(),
            if row.agrees() { "yes" } else { "no" }.into(),
        ])
    });
    let [a, b] = checked.cpus;
    let agree = checked.checks.iter().filter(|row| row.agrees()).count();
    let mut parts = Vec::new();
    parts.summary(
        Table::new("placement-check", "")
            .columns([Column::text("two CPUs / one"), Column::figures("predicted", "")])
            .columns([Column::figures("measured here", ""), figures("error"), figures("within")])
            .rows(rows)
            .note(format!(
                "Rates of programs pinned to CPUs {a} and {b} over those pinned to one CPU. How long they compute is \
                 fitted to the latter; what the second CPU adds is predicted, {agree} of {} within range. If programs \
                 may choose, the simulator places them as ULE would, and this machine as its kernel does.",
                checked.checks.len()
            )),
    );
    let missed: Vec<&str> = checked.checks.iter().filter(|row| !row.agrees()).map(|row| row.test).collect();
    if !missed.is_empty() {
        let missed = missed.join(", ");
        parts.summary(Text::new(format!("The simulator was wrong on this machine about {missed}.")));
    }
    if let Some(busy) = checked.busy.filter(|busy| *busy > BUSY) {
        parts.summary(Text::new(format!(
            "Other work took {:.0} % of the CPUs when the programs began. The simulator does not know of it: the \
             second CPU was not theirs alone. Repeat `coho bench` on a quiet machine.",
            100.0 * busy
        )));
    }
    for (test, why) in &checked.not_available {
        parts.summary(Text::new(format!("not checked: {test}: {}", words::short(why, 300))));
    }
    parts
}

/// What the simulator takes each step to cost.
fn costs(costs: &Costs) -> Table {
    let rows = costs.all().iter().map(|cost| {
        let (low, high) = cost.range;
        let value = Figure::within(cost.value, Some((low, high)), 0);
        Row::new([cost.name.into(), value.into(), cost.source.into()])
    });
    Table::new("costs", "Assumed, unless measured:")
        .columns([Column::text("cost"), Column::figures("value", ""), Column::text("source")])
        .rows(rows)
}
