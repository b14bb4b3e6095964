//! Whole programs under placements: results, what they met, and what the CPUs of a pair take from each other.

use coho_model::chance::{Family, Order};
use coho_profile::unixbench;
use coho_profile::{ClockPoint, IdleGain, WithoutIdle, WorkloadPeer, WorkloadResult, Workloads};

use super::placement;
use crate::sections::prelude::*;

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

pub(super) const ENTRY: Entry = Entry { id: "workloads", title: "Programs under placements", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let workloads = subject.profile.workloads.as_ref()?;
    let mut section = ENTRY.section(headline(workloads));
    let placements = distinct(workloads.results.iter().map(|row| row.placement.as_str()));
    section.summary(by_placement(workloads, &placements));
    section.summary(scores(workloads));
    section.summary(chart(workloads, &placements));
    section.summary(workloads.without_idle.as_ref().map(|without| without_idle(subject, workloads, without)));
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
    let of_one_copy = || workloads.results.iter().filter(|row| row.copies == 1);
    let pairs = || {
        of_one_copy()
            .flat_map(|row| {
                of_one_copy().filter(|other| other.test == row.test).map(move |other| (row, other))
            })
            .filter(|(row, other)| row.placement != other.placement)
    };
    // Each pair comes twice, in either order.
    let family = Family::of(pairs().count() / 2).of_different_runs();
    let gains = pairs().filter_map(|(row, other)| {
        let times = speed(row)?.over(&speed(other)?);
        let order = family.compare(row.value.as_ref()?, other.value.as_ref()?);
        let is_quicker = order == if row.unit == "s" { Order::Less } else { Order::More };
        (is_quicker && times.value.is_finite()).then_some((times, row, other))
    });
    // Of equal gains the first.
    match gains.reduce(|best, one| if one.0.value > best.0.value { one } else { best }) {
        Some((times, quick, slow)) => {
            let [fast, late] = [quick, slow].map(|one| words::short(&one.placement, 30));
            let (test, times) = (program(&quick.test), times.text());
            format!("{test} is {times} times as quick under {fast} as under {late}")
        }
        None if workloads.results.is_empty() => String::new(),
        None => "no placement is better beyond chance by one copy's results".to_owned(),
    }
}

/// So many copies' result of a test under a placement.
pub(super) fn result<'a>(
    results: &'a [WorkloadResult],
    test: &str,
    copies: u32,
    placement: &str,
) -> Option<&'a WorkloadResult> {
    let wanted = (test, copies, placement);
    results.iter().find(|row| (row.test.as_str(), row.copies, row.placement.as_str()) == wanted)
}

/// A result of which more is better: of seconds their reciprocal.
fn speed(row: &WorkloadResult) -> Option<Figure> {
    let figure = Figure::from(row.value.as_ref()?);
    let interval = figure.interval().map(|(low, high)| (1.0 / high, 1.0 / low));
    let is_time = row.unit == "s" && figure.value > 0.0;
    Some(if is_time { Figure::within(1.0 / figure.value, interval, figure.n) } else { figure })
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
fn by_placement(workloads: &Workloads, placements: &[&str]) -> impl Bodies {
    let measured = workloads.results.iter().filter(|row| row.value.is_some());
    let cases = distinct(measured.map(|row| (row.test.as_str(), row.copies, row.unit.as_str())));
    let fewest = cases.iter().map(|case| case.1).min();
    let median = |test: &str, copies: u32, placement: &str| {
        Some(result(&workloads.results, test, copies, placement)?.value.as_ref()?.median)
    };
    let column = |(at, name): (usize, &&str)| {
        let column = Column::figures(words::short(name, 30), "");
        if at < PLACEMENTS { column } else { column.detail() }
    };
    // Each with the prefix that suits its greatest result.
    let cases = cases.into_iter().map(|(test, copies, unit)| {
        let medians = placements.iter().filter_map(|name| median(test, copies, name));
        (test, copies, unit, prefix(medians.fold(0.0, f64::max)))
    });
    Table::of("workloads", "Results by placement (Kimoto's tests)", cases)
        .text("test", |(test, ..)| program(test))
        .figures("copies", "", |(_, copies, ..)| copies)
        .text("unit", |(_, _, unit, (_, prefix))| format!("{prefix}{}", words::short(unit, 10)))
        .detail_if(|(_, copies, ..)| Some(copies) != fewest)
        .note("Medians; none: wherever the scheduler puts them; lps, lpm: loops per second, per minute.")
        .columns(placements.iter().enumerate().map(column), |(test, copies, _, (scale, _))| {
            placements.iter().map(move |name| Some(median(test, copies, name)? * scale))
        })
}

fn scores(workloads: &Workloads) -> impl Bodies {
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
}

/// Tests with idle states allowed and forbidden in turn, and what clock and temperature were meanwhile.
pub(super) fn without_idle<'a>(
    subject: &'a Subject,
    workloads: &'a Workloads,
    without: &'a WithoutIdle,
) -> TableOf<&'a IdleGain> {
    let of = |rows: &'a [WorkloadResult], gain: &IdleGain| {
        rows.iter().find(move |row| {
            (&row.test, &row.placement, &row.pair_class, row.copies)
                == (&gain.test, &gain.placement, &gain.pair_class, gain.copies)
        })
    };
    let with = move |gain: &IdleGain| of(&workloads.results, gain);
    let off = move |gain: &IdleGain| of(&without.results, gain);
    let ghz = |row: &WorkloadResult| row.clock_ghz.as_ref().map(|ghz| ghz.median);
    let celsius = |row: &WorkloadResult| row.celsius.as_ref().map(|celsius| celsius.median);
    let measured = |row: &WorkloadResult| row.celsius.is_some();
    let is_hot = workloads.results.iter().chain(&without.results).any(measured);
    let temperatures = [("°C on", 0), ("°C off", 1)].into_iter().filter(|_| is_hot);
    let states = words::short(&words::joined(without.states.iter(), ", "), 40);
    Table::of(
        "workloads-without-idle",
        format!("With {states} allowed and forbidden (Kimoto)"),
        &without.gains,
    )
    .text("test", |gain| program(&gain.test))
    .text("placement", |gain| words::short(&gain.placement, 30))
    .column(Column::figures("copies", "").detail(), |gain| gain.copies)
    .compared("speed off / on", "", "", |gain| Some(subject.figure_of(&gain.speed)?.format(Format::Ratio)))
    .figures("GHz on", "", move |gain| with(gain).and_then(ghz))
    .figures("GHz off", "", move |gain| off(gain).and_then(ghz))
    .columns_of(
        temperatures,
        |(name, _)| Column::figures(name, ""),
        move |gain, (_, at)| if at == 0 { with(gain) } else { off(gain) }.and_then(celsius),
    )
    .keyed(|gain| {
        let id = format!("workloads.without-idle.{}.{}.{}", gain.test, gain.placement, gain.copies);
        (id, format!("{}{}, gain without {states}", gain.test, course(&gain.placement, gain.copies)))
    })
    .note(format!(
        "On: {states} allowed; off: forbidden, in samples side by side, in random order. {states}: {}.",
        words::short(&without.status, 200)
    ))
}

/// Placement and copies, where they are not the usual ones.
fn course(placement: &str, copies: u32) -> String {
    let placed = if placement == "none" { String::new() } else { format!(", {placement}") };
    if copies == 1 { placed } else { format!("{placed}, {copies} copies") }
}

/// All that is known of the results in one unit, in the order of UnixBench's tables.
fn results(subject: &Subject, workloads: &Workloads, unit: &'static str) -> impl Bodies {
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
        .figures("waited", "", |row| row.psi_cpu_some.map(|share| Format::Percent.of(share)))
        .text("CPUs", |row| (!row.cpus.is_empty()).then(|| words::cpus(&row.cpus)))
        .keyed(|WorkloadResult { test, placement, copies, pair_class, .. }| {
            let pair = |by: &str| pair_class.as_ref().map_or(String::new(), |class| format!("{by}{class}"));
            let label = format!("{test}{}{}", course(placement, *copies), pair(", "));
            (format!("workloads.{test}.{placement}.{copies}{}", pair(".")), label)
        })
}

/// Each placement's result over the best one's, for one copy.
fn chart(workloads: &Workloads, placements: &[&str]) -> Option<Chart> {
    let measured = workloads.results.iter().filter(|row| row.copies == 1 && row.value.is_some());
    let tests = distinct(measured.map(|row| row.test.as_str()));
    let speed_of = |test: &str, placement: &str| speed(result(&workloads.results, test, 1, placement)?);
    let series = placements.iter().take(PLACEMENTS).enumerate().map(|(index, placement)| {
        let bar = |test: &&str| {
            let speeds = placements.iter().filter_map(|other| speed_of(test, other));
            let best = speeds.map(|speed| speed.value).reduce(f64::max)?;
            let speed = speed_of(test, placement)?;
            let (share, interval) = (speed.value / best, speed.interval());
            let hover = format!("{}, {placement}: {} of the best", program(test), words::ratio(share));
            let interval = interval.map(|(low, high)| (low / best, high / best));
            share.is_finite().then_some(Bar { value: share, interval, hover })
        };
        BarSeries::new(words::short(placement, 30), Colour::nth(index), tests.iter().map(bar))
    });
    let (speeds, tests_axis) = (Axis::linear("speed over the best placement's"), Axis::linear("test"));
    let categories = tests.iter().map(|test| program(test)).collect();
    let plot = Plot::Bars { categories, series: series.collect() };
    let chart = Chart::new("workloads", "Programs by placement", speeds, tests_axis, plot);
    (placements.len() > 1 && !tests.is_empty()).then(|| chart.caption("One copy; longer is better."))
}

/// Which rows the host took more than a little time from, how little it took from the rest, and how long tasks waited. That
/// they waited for a CPU says little of others: a workload of several processes makes them wait itself.
fn disturbed(section: &mut Section, workloads: &Workloads) {
    let observed = workloads.results.iter().filter(|row| row.steal_s.is_some() || row.psi_cpu_some.is_some());
    let (much, little): (Vec<_>, Vec<_>) =
        observed.partition(|row| row.steal_s.is_some_and(|steal| steal > STEAL_S));
    for (at, row) in much.iter().enumerate() {
        let copies = if row.copies == 1 { "1 copy" } else { &format!("{} copies", row.copies) };
        let what = format!("{}, {}, {copies}", program(&row.test), words::short(&row.placement, 40));
        let taken = format!("{what}: the host took {:.2} s", row.steal_s.unwrap_or_default());
        let depth = if at < NAMED { Depth::Summary } else { Depth::Detail };
        section.add(depth, Text::labelled("disturbed:", taken));
    }
    let which = if much.is_empty() { "any row" } else { "any other row" };
    let stolen = little.iter().filter_map(|row| row.steal_s).reduce(f64::max);
    let stolen = stolen.map(|most| format!("at most {most:.2} s in {which}"));
    section.summary(stolen.map(|most| Text::labelled("stolen by the host:", most)));
    let busy = workloads.method.parameters.get("busy_before").and_then(serde_json::Value::as_f64);
    section.summary(busy.filter(|busy| *busy > BUSY).map(|busy| {
        let what = "of the CPUs when the first test began; the results were measured beside that work";
        Text::labelled("other work took:", format!("{:.0} % {what}", 100.0 * busy))
    }));
    let waiting = workloads.results.iter().filter_map(|row| row.psi_cpu_some).reduce(f64::max);
    section.summary(waiting.map(|share| {
        let caveat = "workloads of several processes make their own tasks wait";
        let share = format!("some task did for at most {:.0} % of a row's time; {caveat}", 100.0 * share);
        Text::labelled("waited for a CPU:", share)
    }));
}

fn sharing(subject: &Subject, workloads: &Workloads) -> impl Bodies {
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
}

fn peers(subject: &Subject, peers: &[WorkloadPeer]) -> impl Bodies {
    let family = Family::of(peers.len());
    let differs = |row: &WorkloadPeer| {
        let both = row.value.as_ref().zip(row.ours.as_ref());
        both.is_some_and(|(theirs, ours)| family.compare(theirs, ours).differs())
    };
    let verdict = |row: &WorkloadPeer| match (row.agrees, &row.not_available) {
        (Some(true), _) => Some("agrees".to_owned()),
        (Some(false), _) if differs(row) => Some("differs".to_owned()),
        (None, Some(why)) => Some(words::short(&words::reason(why), 60)),
        (Some(false), _) | (None, None) => row.ratio.map(|_| "undecided".to_owned()),
    };
    Table::of("peers", "Beside another build of the tests", peers)
        .text("test", |row| program(&row.test))
        .text("verdict", verdict)
        .figures("theirs", "", |row| subject.figure_of(&row.value))
        .figures("ours", "", |row| subject.figure_of(&row.ours))
        .right("ratio", |row| row.ratio.map(|ratio| format!("{ratio:.3}")))
        .right("within", |row| {
            row.tolerance.map(|share| format!("{:.1} %", 100.0 * share))
        })
        .note("Run in turn on one CPU. Within 3 %, or within twice the median absolute deviation if that is more.")
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
    let (middle, looked) = (sorted[sorted.len() / 2], words::count(sorted.len(), "look"));
    let told = format!(
        "{least:.2} to {most:.2} GHz, middle {middle:.2}, by {looked} during samples over {seconds:.1} s"
    );
    section.summary(Text::labelled("clock", told));
    let hottest = workloads.temperature.iter().map(|point| point.celsius).reduce(f64::max);
    section.summary(hottest.map(|celsius| Text::labelled("hottest", format!("{celsius:.0} °C"))));
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
