//! Whole programs under placements: results, what they met, and what the CPUs of a pair take from each other.

use coho_model::unixbench;
use coho_profile::{Estimate, WorkloadPeer, WorkloadResult, Workloads};

use super::{Entry, method, placement};
use crate::Subject;
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Depth, Missing, Part, Row, Section, Table, Text};
use crate::words;

/// Stolen time of a row beyond which it is called disturbed, in s.
const STEAL_S: f64 = 0.05;
/// The share of the CPUs that daemons and timers do not take.
const BUSY: f64 = 0.1;
/// Disturbed rows that are named.
const NAMED: usize = 8;
/// Placements side by side.
const PLACEMENTS: usize = 5;
/// Units that are known: others may mean anything.
const UNITS: [&str; 5] = ["lps", "lpm", "MWIPS", "KBps", "s"];

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "workloads", title: "Programs under placements", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let workloads = subject.profile.workloads.as_ref()?;
    let mut section = ENTRY.section(headline(workloads));
    let placements = placements(workloads);
    for table in [by_placement(workloads, &placements), scores(workloads)].into_iter().flatten() {
        section.summary(table);
    }
    if let Some(chart) = chart(workloads, &placements) {
        section.summary(chart);
    }
    disturbed(&mut section, workloads);
    for table in [sharing(subject, workloads), peers(subject, &workloads.peers)].into_iter().flatten() {
        section.summary(table);
    }
    clock(&mut section, workloads);
    for unit in UNITS {
        if let Some(table) = results(subject, workloads, unit) {
            section.detail(table);
        }
    }
    if let Some(checked) = &subject.answers.placement {
        let parts = placement::beside(checked).into_iter();
        section.parts.extend(parts.map(|part| Part { depth: Depth::Detail, ..part }));
    }
    // A reason that several rows share is told once.
    let mut reported: Vec<(&str, &str)> = Vec::new();
    for row in &workloads.results {
        if let Some(why) = row.not_available.as_deref().filter(|why| !reported.contains(&(&row.test, why))) {
            reported.push((&row.test, why));
            section.summary(Missing { what: program(&row.test), why: words::reason(why) });
        }
    }
    method::add(&mut section.parts, "workloads-method", &workloads.method);
    Some(section)
}

/// The placements, in the order in which they first occur.
fn placements(workloads: &Workloads) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in &workloads.results {
        if !names.contains(&row.placement.as_str()) {
            names.push(&row.placement);
        }
    }
    names
}

/// UnixBench's name of the program, as `coho bench` takes it.
fn program(test: &str) -> String {
    let name = match test {
        "dhrystone2" => "dhry2reg",
        "whetstone_double" => "whetstone-double",
        "file_copy_1024" => "fstime",
        "file_copy_256" => "fsbuffer",
        "file_copy_4096" => "fsdisk",
        "pipe_throughput" => "pipe",
        "pipe_context_switching" => "context1",
        "process_creation" => "spawn",
        "shell_1" => "shell1",
        "shell_8" => "shell8",
        "syscall_overhead" => "syscall",
        "kernel_build" => "build",
        other => other,
    };
    words::short(name, 40)
}

/// The test on which placement matters most.
fn headline(workloads: &Workloads) -> String {
    let mut best: Option<(f64, String)> = None;
    for row in workloads.results.iter().filter(|row| row.copies == 1) {
        for other in workloads.results.iter().filter(|one| one.test == row.test && one.copies == 1) {
            let (Some(a), Some(b)) = (&row.value, &other.value) else { continue };
            // Seconds are less where it is better; intervals must lie apart.
            let (quick, slow) = if row.unit == "s" { (b, a) } else { (a, b) };
            let times = quick.median / slow.median;
            let apart = a.has_interval() && b.has_interval() && quick.low > slow.high;
            if apart && times.is_finite() && best.as_ref().is_none_or(|(most, _)| times > *most) {
                let (fast, late) = if row.unit == "s" { (other, row) } else { (row, other) };
                let [fast, late] = [fast, late].map(|one| words::short(&one.placement, 30));
                let (test, times_text) = (program(&row.test), words::number(times));
                best = Some((
                    times,
                    format!("{test} is {times_text} times as quick under {fast} as under {late}"),
                ));
            }
        }
    }
    match (best, workloads.results.is_empty()) {
        (Some((_, sentence)), _) => sentence,
        (None, false) => "no placement is better beyond the intervals of one copy's results".to_owned(),
        (None, true) => String::new(),
    }
}

/// Thousands and millions, as the figures run from one to a hundred million.
fn prefix(value: f64) -> (f64, &'static str) {
    match value {
        value if value >= 1e6 => (1e-6, "10^6 "),
        value if value >= 1e4 => (1e-3, "10^3 "),
        _ => (1.0, ""),
    }
}

/// Medians of one copy, a column for each placement; those of several copies are for who wants everything.
fn by_placement(workloads: &Workloads, placements: &[&str]) -> Option<Table> {
    let mut cases: Vec<(&str, u32, &str)> = Vec::new();
    for row in &workloads.results {
        let case = (row.test.as_str(), row.copies, row.unit.as_str());
        if row.value.is_some() && !cases.contains(&case) {
            cases.push(case);
        }
    }
    let fewest = cases.iter().map(|case| case.1).min();
    let row = |&(test, copies, unit): &(&str, u32, &str)| {
        let median_of = |placement: &str| {
            let same = |row: &&WorkloadResult| {
                (row.test.as_str(), row.copies, &*row.placement) == (test, copies, placement)
            };
            Some(workloads.results.iter().find(same)?.value.as_ref()?.median)
        };
        let values: Vec<Option<f64>> = placements.iter().map(|placement| median_of(placement)).collect();
        let (scale, prefix) = prefix(values.iter().flatten().copied().fold(0.0, f64::max));
        let names = [
            program(test).into(),
            Figure::count(copies).into(),
            format!("{prefix}{}", words::short(unit, 10)).into(),
        ];
        let row = Row::new(
            names.into_iter().chain(values.iter().map(|value| Cell::maybe(value.map(|value| value * scale)))),
        );
        if Some(copies) == fewest { row } else { row.detail() }
    };
    let column = |(at, name): (usize, &&str)| {
        let column = Column::figures(words::short(name, 30), "");
        if at < PLACEMENTS { column } else { column.detail() }
    };
    let table = Table::new("workloads", "Results by placement (Kimoto's tests)")
        .columns([Column::text("test"), Column::figures("copies", ""), Column::text("unit")])
        .columns(placements.iter().enumerate().map(column))
        .rows(cases.iter().map(row))
        .note("Medians; none: wherever the scheduler puts them; lps, lpm: loops per second, per minute.");
    (!cases.is_empty()).then_some(table)
}

fn scores(workloads: &Workloads) -> Option<Table> {
    let rows = workloads.scores.iter().map(|score| {
        let (placement, n, tests) = (&score.placement, score.copies, score.tests);
        // Scores of other tests are other quantities.
        let id = format!("workloads.score.{placement}.{n}.{tests}-tests");
        let label = format!("score of {}{}", words::count(tests as usize, "test"), course(placement, n));
        let cells = [words::short(placement, 40).into(), Figure::count(n).into()];
        Row::new(cells.into_iter().chain([score.index.into(), Figure::count(tests).into()])).keyed(id, label)
    });
    let table = Table::new("workload-scores", "Scores")
        .columns([Column::text("placement"), Column::figures("copies", "")])
        .columns([Column::figures("score", "").compared("index"), Column::figures("tests", "")])
        .rows(rows)
        .note(
            "The geometric mean of the tests' indices, each ten times its result over UnixBench's baseline.",
        );
    (!workloads.scores.is_empty()).then_some(table)
}

/// Placement and copies, where they are not the usual ones.
fn course(placement: &str, copies: u32) -> String {
    let placed = if placement == "none" { String::new() } else { format!(", {placement}") };
    if copies == 1 { placed } else { format!("{placed}, {copies} copies") }
}

/// All that is known of the results in one unit, in the order of UnixBench's tables.
fn results(subject: &Subject, workloads: &Workloads, unit: &'static str) -> Option<Table> {
    let place = |test: &str| unixbench::TESTS.iter().position(|known| known.name == test);
    let mut mine: Vec<&WorkloadResult> =
        workloads.results.iter().filter(|row| row.unit == unit && row.value.is_some()).collect();
    mine.sort_by_key(|row| place(&row.test).unwrap_or(usize::MAX));
    let row = |row: &&WorkloadResult| {
        let WorkloadResult { test, placement, copies, .. } = row;
        let class = row.pair_class.as_deref();
        let id = format!(
            "workloads.{test}.{placement}.{copies}{}",
            class.map_or(String::new(), |class| format!(".{class}"))
        );
        let pair = class.map_or(String::new(), |class| format!(", {class}"));
        let beside =
            class.filter(|class| class != placement).map(|class| format!(" ({})", words::short(class, 30)));
        let steal = row.steal_s.map(|steal| format!("{steal:.2}{}", if steal > STEAL_S { " !" } else { "" }));
        let waited = row.psi_cpu_some.map(|share| Figure::exact(share).format(Format::Percent));
        let cpus = if row.cpus.is_empty() { Cell::Nothing } else { words::cpus(&row.cpus).into() };
        Row::new([
            program(test).into(),
            format!("{}{}", words::short(placement, 30), beside.unwrap_or_default()).into(),
            Figure::count(*copies).into(),
            Cell::maybe(row.value.as_ref().map(|value| subject.figure(value))),
            Cell::maybe(row.index),
            Cell::maybe(row.clock_ghz.as_ref().map(|ghz| Figure::exact(ghz.median))),
            steal.map_or(Cell::Nothing, Cell::from),
            Cell::maybe(waited),
            cpus,
        ])
        .keyed(id, format!("{test}{}{pair}", course(placement, *copies)))
    };
    let table = Table::new(format!("workloads-{}", unit.to_ascii_lowercase()), format!("Results in {unit}"))
        .columns([Column::text("test"), Column::text("placement"), Column::figures("n", "")])
        .columns([
            Column::figures("result", "").compared(unit),
            Column::figures("index", ""),
            Column::figures("GHz", ""),
            Column { is_figures: true, ..Column::text("steal, s") },
            Column::figures("waited", ""),
            Column::text("CPUs"),
        ])
        .rows(mine.iter().map(row));
    (!mine.is_empty()).then_some(table)
}

/// Each placement's result over the best one's, for one copy.
fn chart(workloads: &Workloads, placements: &[&str]) -> Option<Chart> {
    let mut tests: Vec<&str> = Vec::new();
    for row in workloads.results.iter().filter(|row| row.copies == 1 && row.value.is_some()) {
        if !tests.contains(&row.test.as_str()) {
            tests.push(&row.test);
        }
    }
    // A speed: of seconds their reciprocal.
    let speed = |row: &WorkloadResult| {
        let Estimate { median, low, high, .. } = *row.value.as_ref()?;
        let ends = row.value.as_ref().filter(|value| value.has_interval()).map(|_| (low, high));
        let inverted = row.unit == "s" && median > 0.0;
        let invert = |(low, high): (f64, f64)| (1.0 / high, 1.0 / low);
        Some(if inverted { (1.0 / median, ends.map(invert)) } else { (median, ends) })
    };
    let speed_of = |test: &str, placement: &str| {
        let same = |row: &&WorkloadResult| row.copies == 1 && row.test == test && row.placement == placement;
        workloads.results.iter().find(same).and_then(speed)
    };
    let series = placements.iter().take(PLACEMENTS).enumerate().map(|(index, placement)| {
        let bar = |test: &&str| {
            let best = placements
                .iter()
                .filter_map(|other| speed_of(test, other))
                .map(|one| one.0)
                .reduce(f64::max)?;
            let (value, ends) = speed_of(test, placement)?;
            let share = value / best;
            let hover = format!("{}, {placement}: {} of the best", program(test), words::ratio(share));
            let interval = ends.map(|(low, high)| (low / best, high / best));
            share.is_finite().then_some(Bar { value: share, interval, hover })
        };
        let bars = tests.iter().map(bar).collect();
        BarSeries { name: words::short(placement, 30), colour: Colour::nth(index), published: false, bars }
    });
    let plot =
        Plot::Bars { categories: tests.iter().map(|test| program(test)).collect(), series: series.collect() };
    let (x, y) = (Axis::linear("speed over the best placement's"), Axis::linear("test"));
    let chart =
        Chart::new("workloads", "Programs by placement", x, y, plot).caption("One copy; longer is better.");
    (placements.len() > 1 && !tests.is_empty()).then_some(chart)
}

/// What the host took from a row, where it is more than a little. That tasks waited for a CPU says little of others: a
/// workload of several processes makes them wait itself.
fn steal(row: &WorkloadResult) -> Option<f64> {
    row.steal_s.filter(|&steal| steal > STEAL_S)
}

/// Which rows the host took time from, how little it took from the rest, and how long tasks waited.
fn disturbed(section: &mut Section, workloads: &Workloads) {
    let observed = workloads.results.iter().filter(|row| row.steal_s.is_some() || row.psi_cpu_some.is_some());
    let (much, little): (Vec<_>, Vec<_>) = observed.partition(|row| steal(row).is_some());
    for (at, row) in much.iter().enumerate() {
        let copies = if row.copies == 1 { "1 copy".to_owned() } else { format!("{} copies", row.copies) };
        let what = format!("{}, {}, {copies}", program(&row.test), words::short(&row.placement, 40));
        let text = Text::labelled(
            "disturbed:",
            format!("{what}: the host took {:.2} s", steal(row).unwrap_or_default()),
        );
        if at < NAMED {
            section.summary(text)
        } else {
            section.detail(text)
        };
    }
    let which = if much.is_empty() { "any row" } else { "any other row" };
    if let Some(most) = little.iter().filter_map(|row| row.steal_s).reduce(f64::max) {
        section.summary(Text::labelled("stolen by the host:", format!("at most {most:.2} s in {which}")));
    }
    let busy = workloads.method.parameters.get("busy_before").and_then(serde_json::Value::as_f64);
    if let Some(busy) = busy.filter(|busy| *busy > BUSY) {
        let share = 100.0 * busy;
        let text = format!(
            "{share:.0} % of the CPUs when the first test began: the results are those beside such work"
        );
        section.summary(Text::labelled("other work took:", text));
    }
    if let Some(waiting) = workloads.results.iter().filter_map(|row| row.psi_cpu_some).reduce(f64::max) {
        let share = 100.0 * waiting;
        let text = format!(
            "some task did for at most {share:.0} % of a row's time; workloads of several processes make their own \
             tasks wait"
        );
        section.summary(Text::labelled("waited for a CPU:", text));
    }
}

fn sharing(subject: &Subject, workloads: &Workloads) -> Option<Table> {
    const PAIRS: usize = 8;
    let rows = workloads.sharing.iter().map(|row| {
        let figure =
            |estimate: &Option<Estimate>| Cell::maybe(estimate.as_ref().map(|one| subject.figure(one)));
        let pairs =
            row.pairs.iter().take(PAIRS).map(|[a, b]| format!("{a}–{b}")).collect::<Vec<_>>().join(", ");
        let more = if row.pairs.len() > PAIRS { ", …" } else { "" };
        Row::new([
            words::short(&row.kernel, 40).into(),
            words::short(&row.pair_class, 40).into(),
            figure(&row.alone_per_ns),
            figure(&row.together_per_ns),
            Cell::maybe(row.ratio.as_ref().map(|ratio| subject.figure(ratio).format(Format::Ratio))),
            format!("{pairs}{more}").into(),
        ])
    });
    let table = Table::new("sharing", "What the CPUs of a pair take from each other")
        .columns([Column::text("kernel"), Column::text("pair")])
        .columns(["alone, steps/ns", "together", "ratio"].map(|name| Column::figures(name, "")))
        .columns([Column::text("pairs").detail()])
        .rows(rows)
        .note(
            "The same kernel on both CPUs at the same time: 1 if nothing is shared, 0.5 if everything is. \
             Cache-resident: dependent loads from three quarters of the level-2 cache.",
        );
    (!workloads.sharing.is_empty()).then_some(table)
}

fn peers(subject: &Subject, peers: &[WorkloadPeer]) -> Option<Table> {
    let row = |row: &WorkloadPeer| {
        let verdict = match (row.agrees, &row.not_available) {
            (Some(true), _) => "agrees".into(),
            (Some(false), _) => "differs".into(),
            (None, Some(why)) => words::short(&words::reason(why), 60).into(),
            (None, None) if row.ratio.is_some() => "undecided".into(),
            (None, None) => Cell::Nothing,
        };
        let figure =
            |estimate: &Option<Estimate>| Cell::maybe(estimate.as_ref().map(|one| subject.figure(one)));
        Row::new([
            program(&row.test).into(),
            verdict,
            figure(&row.value),
            figure(&row.ours),
            row.ratio.map_or(Cell::Nothing, |ratio| format!("{ratio:.3}").into()),
            row.tolerance.map_or(Cell::Nothing, |share| format!("{:.1} %", 100.0 * share).into()),
        ])
    };
    let words = |name: &str| Column { is_figures: true, ..Column::text(name) };
    let table = Table::new("peers", "Beside another build of the tests")
        .columns([Column::text("test"), Column::text("")])
        .columns([
            Column::figures("theirs", ""),
            Column::figures("ours", ""),
            words("ratio"),
            words("within"),
        ])
        .rows(peers.iter().map(row))
        .note(
            "Run in turn on one CPU. Within 3 %, or within twice the median absolute deviation if that is more.",
        );
    (!peers.is_empty()).then_some(table)
}

/// The clock over the run, and the greatest heat.
fn clock(section: &mut Section, workloads: &Workloads) {
    // What is no clock is no point.
    let looks: Vec<_> =
        workloads.clock.iter().filter(|point| point.ghz.is_finite() && point.ghz > 0.0).collect();
    let mut sorted: Vec<f64> = looks.iter().map(|point| point.ghz).collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return };
    let seconds = looks.last().map_or(0.0, |point| point.at_s);
    section.summary(Text::labelled(
        "clock",
        format!(
            "{least:.2} to {most:.2} GHz, middle {:.2}, by {} during samples over {seconds:.1} s",
            sorted[sorted.len() / 2],
            words::count(sorted.len(), "look")
        ),
    ));
    if let Some(hottest) = workloads.temperature.iter().map(|point| point.celsius).reduce(f64::max) {
        section.summary(Text::labelled("hottest", format!("{hottest:.0} °C")));
    }
    let points = looks.iter().map(|point| Point {
        x: point.at_s,
        y: point.ghz,
        interval: None,
        hover: format!("CPU {}: {:.2} GHz after {:.1} s", point.cpu, point.ghz, point.at_s),
    });
    let name = "the CPU that was looked at".to_owned();
    let series =
        vec![Series { name, colour: Colour::nth(0), stroke: Stroke::Points, points: points.collect() }];
    let (x, y) = (Axis::linear("time, s"), Axis::linear("clock, GHz").tight());
    section.summary(
        Chart::new("clock", "The clock during the samples", x, y, Plot::Lines(series)).over_time().caption(
            "Effective clock of the CPUs that a sample used, measured right after it by chains of dependent additions \
             and of exclusive-ors, which must agree.",
        ),
    );
}

#[cfg(test)]
mod tests;
