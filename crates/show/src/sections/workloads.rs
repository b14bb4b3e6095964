//! Whole programs under placements: results, what they met, and what the CPUs of a pair take from each other.

use coho_profile::unixbench;
use coho_profile::{ClockPoint, Estimate, WorkloadPeer, WorkloadResult, Workloads};

use super::{Entry, method, placement};
use crate::Subject;
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::{Figure, Format};
use crate::part::{Column, Depth, Missing, Part, Section, Table, Text};
use crate::scale::distinct;
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
    let placements = distinct(workloads.results.iter().map(|row| row.placement.as_str()));
    section.summary(by_placement(workloads, &placements));
    section.summary(scores(workloads));
    section.summary(chart(workloads, &placements));
    disturbed(&mut section, workloads);
    section.summary(sharing(subject, workloads));
    section.summary(peers(subject, &workloads.peers));
    clock(&mut section, workloads);
    section.detail(UNITS.map(|unit| results(subject, workloads, unit)));
    if let Some(checked) = &subject.answers.placement {
        let parts = placement::beside(checked).into_iter();
        section.parts.extend(parts.map(|part| Part { depth: Depth::Detail, ..part }));
    }
    // A reason that several rows share stands once.
    let reasons =
        distinct(workloads.results.iter().filter_map(|row| Some((&row.test, row.not_available.as_ref()?))));
    section.summary(reasons.into_iter().map(|(test, why)| Missing::new(program(test), why)));
    method::add(&mut section.parts, "workloads-method", &workloads.method);
    Some(section)
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
fn by_placement(workloads: &Workloads, placements: &[&str]) -> Table {
    let measured = workloads.results.iter().filter(|row| row.value.is_some());
    let cases = distinct(measured.map(|row| (row.test.as_str(), row.copies, row.unit.as_str())));
    let fewest = cases.iter().map(|case| case.1).min();
    let median = |test: &str, copies: u32, placement: &str| {
        let same = |row: &&WorkloadResult| {
            (row.test.as_str(), row.copies, &*row.placement) == (test, copies, placement)
        };
        Some(workloads.results.iter().find(same)?.value.as_ref()?.median)
    };
    // Each with the prefix that suits its greatest result.
    let cases = cases.into_iter().map(|(test, copies, unit)| {
        let medians = placements.iter().filter_map(|name| median(test, copies, name));
        (test, copies, unit, prefix(medians.fold(0.0, f64::max)))
    });
    let mut table = Table::of("workloads", "Results by placement (Kimoto's tests)", cases)
        .text("test", |(test, ..)| program(test))
        .figures("copies", "", |(_, copies, ..)| copies)
        .text("unit", |(_, _, unit, (_, prefix))| format!("{prefix}{}", words::short(unit, 10)))
        .detail_if(|(_, copies, ..)| Some(copies) != fewest)
        .note("Medians; none: wherever the scheduler puts them; lps, lpm: loops per second, per minute.");
    for (at, name) in placements.iter().enumerate() {
        let column = Column::figures(words::short(name, 30), "");
        let column = if at < PLACEMENTS { column } else { column.detail() };
        table =
            table.column(column, |(test, copies, _, (scale, _))| Some(median(test, copies, name)? * scale));
    }
    table.done()
}

fn scores(workloads: &Workloads) -> Table {
    Table::of("workload-scores", "Scores", &workloads.scores)
        .text("placement", |score| words::short(&score.placement, 40))
        .figures("copies", "", |score| score.copies)
        .compared("score", "", "index", |score| score.index)
        .figures("tests", "", |score| score.tests)
        .keyed(|coho_profile::Score { placement, copies, tests, .. }| {
            // Scores of other tests are other quantities.
            let label =
                format!("score of {}{}", words::count(*tests as usize, "test"), course(placement, *copies));
            (format!("workloads.score.{placement}.{copies}.{tests}-tests"), label)
        })
        .note(
            "The geometric mean of the tests' indices, each ten times its result over UnixBench's baseline.",
        )
        .done()
}

/// Placement and copies, where they are not the usual ones.
fn course(placement: &str, copies: u32) -> String {
    let placed = if placement == "none" { String::new() } else { format!(", {placement}") };
    if copies == 1 { placed } else { format!("{placed}, {copies} copies") }
}

/// All that is known of the results in one unit, in the order of UnixBench's tables.
fn results(subject: &Subject, workloads: &Workloads, unit: &'static str) -> Table {
    let place = |test: &str| unixbench::TESTS.iter().position(|known| known.name == test);
    let mut mine: Vec<&WorkloadResult> =
        workloads.results.iter().filter(|row| row.unit == unit && row.value.is_some()).collect();
    mine.sort_by_key(|row| place(&row.test).unwrap_or(usize::MAX));
    let id = format!("workloads-{}", unit.to_ascii_lowercase());
    Table::of(id, format!("Results in {unit}"), mine)
        .text("test", |row| program(&row.test))
        .text("placement", |row| {
            let class = row.pair_class.as_deref().filter(|class| *class != row.placement);
            let class = class.map_or(String::new(), |class| format!(" ({})", words::short(class, 30)));
            words::short(&row.placement, 30) + &class
        })
        .figures("n", "", |row| row.copies)
        .compared("result", "", unit, |row| subject.figure_of(&row.value))
        .figures("index", "", |row| row.index)
        .figures("GHz", "", |row| row.clock_ghz.as_ref().map(|ghz| ghz.median))
        .right("steal, s", |row| {
            row.steal_s.map(|steal| format!("{steal:.2}{}", if steal > STEAL_S { " !" } else { "" }))
        })
        .figures("waited", "", |row| {
            row.psi_cpu_some.map(|share| Figure::exact(share).format(Format::Percent))
        })
        .text("CPUs", |row| (!row.cpus.is_empty()).then(|| words::cpus(&row.cpus)))
        .keyed(|WorkloadResult { test, placement, copies, pair_class, .. }| {
            let pair = |by: &str| pair_class.as_ref().map_or(String::new(), |class| format!("{by}{class}"));
            let label = format!("{test}{}{}", course(placement, *copies), pair(", "));
            (format!("workloads.{test}.{placement}.{copies}{}", pair(".")), label)
        })
        .done()
}

/// Each placement's result over the best one's, for one copy.
fn chart(workloads: &Workloads, placements: &[&str]) -> Option<Chart> {
    let measured = workloads.results.iter().filter(|row| row.copies == 1 && row.value.is_some());
    let tests = distinct(measured.map(|row| row.test.as_str()));
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
        BarSeries::new(words::short(placement, 30), Colour::nth(index), tests.iter().map(bar))
    });
    let (speeds, tests_axis) = (Axis::linear("speed over the best placement's"), Axis::linear("test"));
    let categories = tests.iter().map(|test| program(test)).collect();
    let plot = Plot::Bars { categories, series: series.collect() };
    let chart = Chart::new("workloads", "Programs by placement", speeds, tests_axis, plot)
        .caption("One copy; longer is better.");
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

fn sharing(subject: &Subject, workloads: &Workloads) -> Table {
    const PAIRS: usize = 8;
    Table::of("sharing", "What the CPUs of a pair take from each other", &workloads.sharing)
        .text("kernel", |row| words::short(&row.kernel, 40))
        .text("pair", |row| words::short(&row.pair_class, 40))
        .figures("alone, steps/ns", "", |row| subject.figure_of(&row.alone_per_ns))
        .figures("together", "", |row| subject.figure_of(&row.together_per_ns))
        .figures("ratio", "", |row| Some(subject.figure_of(&row.ratio)?.format(Format::Ratio)))
        .column(Column::text("pairs").detail(), |row| {
            let pairs: Vec<_> = row.pairs.iter().take(PAIRS).map(|[a, b]| format!("{a}–{b}")).collect();
            pairs.join(", ") + if row.pairs.len() > PAIRS { ", …" } else { "" }
        })
        .note(
            "The same kernel on both CPUs at the same time: 1 if nothing is shared, 0.5 if everything is. \
             Cache-resident: dependent loads from three quarters of the level-2 cache.",
        )
        .done()
}

fn peers(subject: &Subject, peers: &[WorkloadPeer]) -> Table {
    let verdict = |row: &WorkloadPeer| match (row.agrees, &row.not_available) {
        (Some(true), _) => Some("agrees".to_owned()),
        (Some(false), _) => Some("differs".to_owned()),
        (None, Some(why)) => Some(words::short(&words::reason(why), 60)),
        (None, None) => row.ratio.map(|_| "undecided".to_owned()),
    };
    Table::of("peers", "Beside another build of the tests", peers)
        .text("test", |row| program(&row.test))
        .text("", verdict)
        .figures("theirs", "", |row| subject.figure_of(&row.value))
        .figures("ours", "", |row| subject.figure_of(&row.ours))
        .right("ratio", |row| row.ratio.map(|ratio| format!("{ratio:.3}")))
        .right("within", |row| {
            row.tolerance.map(|share| format!("{:.1} %", 100.0 * share))
        })
        .note("Run in turn on one CPU. Within 3 %, or within twice the median absolute deviation if that is more.")
        .done()
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
    let points = looks.iter().map(|ClockPoint { at_s, cpu, ghz }| {
        Point::exact(*at_s, *ghz, format!("CPU {cpu}: {ghz:.2} GHz after {at_s:.1} s"))
    });
    let series = Series::new("the CPU that was looked at", Colour::nth(0), Stroke::Points).points(points);
    let axes = [Axis::linear("time, s"), Axis::linear("clock, GHz").tight()];
    section.summary(
        Chart::lines("clock", "The clock during the samples", axes, vec![series]).over_time().caption(
            "Effective clock of the CPUs that a sample used, measured right after it by chains of dependent additions \
             and of exclusive-ors, which must agree.",
        ),
    );
}

#[cfg(test)]
mod tests;
