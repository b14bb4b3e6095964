//! What a scheduler's idea of a machine does to programs, and how far the simulator is borne out by this machine's own.

use coho_model::placement::{Assumed, Checked, Costs, Finding, Outcome, Prediction, Range, Ratio, Sign};

use crate::sections::prelude::*;

/// Other work that takes more of the CPUs' time is mentioned.
const BUSY: f64 = 0.1;

/// Change of a ratio in per cent, with its range.
pub fn change(ratio: Range) -> String {
    if ratio.sign() == Sign::None {
        return "0".to_owned();
    }
    let percent = |ratio: f64| signs::change(100.0 * (ratio - 1.0), 0);
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

/// All that was predicted of a machine; with `why` also where tasks were put.
pub fn outcome(outcome: &Outcome, why: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(Text::new(format!("ULE on {}", words::short(&outcome.machine, 200))));
    parts.summary(outcome.views.iter().map(|view| Text::labelled(&view.name, &view.shape)));
    parts.summary(outcome.not_available.iter().map(|(name, why)| Missing::new(name, why)));
    parts.extend(outcome.checked.iter().flat_map(beside));
    let unchecked = outcome.checked.as_ref().err().map(|why| words::short(&why.to_string(), 600));
    parts.summary(unchecked.map(|why| Text::new(format!("not checked on this machine: {why}"))));
    parts.summary(rates(outcome));
    parts.summary(why.then(|| wakes(outcome)));
    parts.summary(explained(&outcome.findings));
    parts.summary(outcome.findings.iter().filter_map(Finding::size).map(Text::new));
    parts.summary(costs(&outcome.costs));
    let (measured, pairs) = outcome.measured_pairs;
    let pairs = words::count(pairs, "pair");
    let pairs = format!("Line transfer times are measured for {measured} of {pairs} of CPUs.");
    parts.summary(Text::new(pairs));
    parts.summary(outcome.condition.as_ref().map(|condition| Text::new(words::short(condition, 600))));
    parts
}

fn rates(outcome: &Outcome) -> Option<TableOf<&Prediction>> {
    let (ratios, runs) = (outcome.ratios(), outcome.runs);
    let table = Table::of("ule-rates", "", outcome.of_view(&outcome.views.first()?.name))
        .text("workload", |base| base.workload.name());
    if ratios.is_empty() {
        let note = format!("Rate, and the range of 95 % of {runs} runs.");
        return Some(table.figures("a second", "", |base| base.rate().map(within)).note(note));
    }
    let of_base = |base, ratio: &Ratio<'_>| {
        let (over, under) = (outcome.under(base, ratio.over)?, outcome.under(base, ratio.under)?);
        over.over(under).map(change)
    };
    let column = |ratio: &Ratio<'_>| Column::right(format!("{} / {}", ratio.over, ratio.under));
    Some(table.columns_of(&ratios, column, of_base).note(format!(
        "Change of the rate in per cent, and the range of 95 % of {runs} runs, each with its own costs; 0: within 1 % \
         in all."
    )))
}

fn wakes(outcome: &Outcome) -> TableOf<&Prediction> {
    let share = |one: &Prediction, count: u64| {
        let all = one.stats.wakes.iter().sum::<u64>().max(1) as f64;
        format!("{:.0}", 100.0 * count as f64 / all)
    };
    Table::of("ule-wakes", "", &outcome.predictions)
        .text("workload", |one| one.workload.name())
        .text("topology", |one| one.view.as_str())
        .right("near, %", |one| share(one, one.stats.wakes[..2].iter().sum()))
        .right("halted, %", |one| share(one, one.stats.halted))
        .right("moved, %", |one| share(one, one.stats.moves))
        .note(
            "Shares of the wake-ups of one task by another. Near: on the same CPU or one of the same core, module or \
             L2; halted: on a CPU that had halted; moved: on another CPU than before.",
        )
}

/// What ULE's rules say of the tests that Kimoto measured.
fn explained(findings: &[Finding]) -> TableOf<&Finding> {
    Table::of("ule-article", "Kimoto's tests: patched / stock", findings)
        .text("test", |one| one.measured.test)
        .text("verdict", |one| one.verdict().words())
        .right("model", |one| sign(one.both.sign()))
        .right("%", |one| change(one.both))
        .right("found", |one| sign(one.measured_sign()))
        .right("C6 on", |one| signs::change(one.measured.percent()[0], 1))
        .right("off, %", |one| signs::change(one.measured.percent()[1], 1))
        .note(
            "Found: 0 if the two pairs' mean change is not above twice their noise. Model: ? if it depends on unknown \
             costs. The simulator models no clock, disk or cache capacity.",
        )
}

/// The simulator beside a machine's own programs, and what it takes steps to cost.
pub fn check(checked: &Checked) -> Vec<Part> {
    let mut parts = beside(checked);
    parts.summary(costs(&checked.costs));
    parts
}

/// The simulator beside a machine's own programs.
pub(super) fn beside(checked: &Checked) -> Vec<Part> {
    let [a, b] = checked.cpus;
    let all = checked.checks.len();
    let missed: Vec<_> = checked.checks.iter().filter(|row| !row.agrees()).map(|row| row.test).collect();
    let mut parts = Vec::new();
    parts.summary(
        Table::of("placement-check", "", &checked.checks)
            .text("two CPUs / one", |row| row.test)
            .figures("predicted", "", |row| within(row.predicted))
            .figures("measured here", "", |row| within(row.measured))
            .right("error", |row| signs::change(100.0 * row.error(), 0) + " %")
            .right("within", |row| words::yes_no(row.agrees()))
            .note(format!(
                "Rates of programs pinned to CPUs {a} and {b} over those pinned to one CPU. How long they compute is \
                 fitted to the latter; what the second CPU adds is predicted, {} of {all} within range. If programs may \
                 choose, the simulator places them as ULE would, and this machine as its kernel does.",
                all - missed.len()
            )),
    );
    if !missed.is_empty() {
        let missed = missed.join(", ");
        parts.summary(Text::new(format!("Measured outside the predicted range on this machine: {missed}.")));
    }
    if let Some(busy) = checked.busy.filter(|busy| *busy > BUSY) {
        parts.summary(Text::new(format!(
            "Other work took {:.0} % of the CPUs when the programs began. The simulator does not know of \
             it: they may not have had the second CPU to themselves. Repeat `coho bench` on a quiet machine.",
            100.0 * busy
        )));
    }
    let unchecked = checked.not_available.iter().map(|(test, why)| (test, words::short(why, 300)));
    parts.summary(unchecked.map(|(test, why)| Text::new(format!("not checked: {test}: {why}"))));
    parts
}

fn costs(costs: &Costs) -> TableOf<&Assumed> {
    Table::of("costs", "Assumed, unless measured:", costs.all())
        .text("cost", |cost| cost.name)
        .figures("value", "", |cost| Figure::within(cost.value, Some(cost.range), 0))
        .text("source", |cost| cost.source)
        .note("Times of lines (…_line_ns) stand in for pairs of CPUs whose own time was not measured.")
}
