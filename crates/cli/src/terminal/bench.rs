//! Workloads under placements, for people.

use std::io::{self, Write};

use coho_probe::workload::Test;
use coho_profile::{Estimate, SharedKernel, WorkloadPeer, WorkloadResult, Workloads};

use super::table::{table, wrapped};
use super::timeline;
use crate::report::text;
use crate::report::workloads::disturbance;

/// Writes the tables.
pub fn write(out: &mut impl Write, workloads: &Workloads) -> io::Result<()> {
    results(out, &workloads.results)?;
    for score in &workloads.scores {
        let copies = copies(score.copies);
        let index = text::number(score.index);
        let of = text::count(score.tests as usize, "test");
        writeln!(out, "Score, {}, {copies}: {index} (geometric mean of {of})", text::tame(&score.placement))?;
    }
    if !workloads.scores.is_empty() {
        writeln!(out)?;
    }
    disturbed(out, workloads)?;
    sharing(out, &workloads.sharing)?;
    peers(out, &workloads.peers)?;
    clock(out, workloads)?;
    for (what, why) in &workloads.method.not_available {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    // A reason that several rows share is told once.
    let mut told: Vec<(&str, &str)> = Vec::new();
    for row in &workloads.results {
        if let Some(why) = row.not_available.as_deref().filter(|why| !told.contains(&(&row.test, why))) {
            told.push((&row.test, why));
            let line = format!("not available: {}: {}", test(&row.test), text::reason(why));
            writeln!(out, "{}", wrapped("", &line))?;
        }
    }
    if workloads.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

fn results(out: &mut impl Write, results: &[WorkloadResult]) -> io::Result<()> {
    let rows: Vec<_> = results
        .iter()
        .map(|row| {
            let class = row.pair_class.as_ref().filter(|class| **class != row.placement);
            let class = class.map_or_else(String::new, |class| format!(" ({})", text::tame(class)));
            [
                test(&row.test),
                text::tame(&row.placement) + &class,
                row.copies.to_string(),
                value(&row.value),
                text::tame(&row.unit),
                row.index.map_or_else(dash, text::number),
                row.clock_ghz.as_ref().map_or_else(dash, |ghz| text::printed(ghz.median)),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let header = ["test", "placement", "n", "result (95 %)", "unit", "index", "GHz"];
    writeln!(out, "{}\n", table(header, 2, rows))
}

/// The share of the CPUs that other work took before the first test, if it is worth telling.
fn other_work(workloads: &Workloads) -> Option<f64> {
    /// Daemons and timers take less.
    const MUCH: f64 = 0.1;
    let busy = workloads.method.parameters.get("busy_before")?.as_f64()?;
    (busy > MUCH).then_some(busy)
}

/// Which rows the host took time from, how little it took from the rest, and how long tasks waited.
fn disturbed(out: &mut impl Write, workloads: &Workloads) -> io::Result<()> {
    /// Rows that are named.
    const NAMED: usize = 8;
    let observed = workloads.results.iter().filter(|row| row.steal_s.is_some() || row.psi_cpu_some.is_some());
    let (much, little): (Vec<_>, Vec<_>) = observed.partition(|row| disturbance(row).is_some());
    for row in much.iter().take(NAMED) {
        let told = disturbance(row).unwrap_or_default();
        let what = format!("{}, {}, {}", test(&row.test), text::tame(&row.placement), copies(row.copies));
        writeln!(out, "{}", wrapped("disturbed: ", &format!("{what}: {told}")))?;
    }
    if much.len() > NAMED {
        let more = text::count(much.len() - NAMED, "row");
        writeln!(out, "disturbed: {more} more; 'steal_s' of --json tells")?;
    }
    if !little.is_empty() {
        let most =
            |of: fn(&WorkloadResult) -> Option<f64>| little.iter().filter_map(|row| of(row)).reduce(f64::max);
        let which = if much.is_empty() { "any row" } else { "any other row" };
        if let Some(steal) = most(|row| row.steal_s) {
            writeln!(
                out,
                "{}",
                wrapped("stolen by the host: ", &format!("at most {steal:.2} s in {which}"))
            )?;
        }
    }
    if let Some(busy) = other_work(workloads) {
        let told = format!(
            "{:.0} % of the CPUs when the first test began: results are those beside it",
            100.0 * busy
        );
        writeln!(out, "{}", wrapped("other work took: ", &told))?;
    }
    let waiting = workloads.results.iter().filter_map(|row| row.psi_cpu_some).reduce(f64::max);
    if let Some(waiting) = waiting {
        let told = format!(
            "a task did at most {:.0} % of a row's time; workloads of several processes make their own wait",
            100.0 * waiting
        );
        writeln!(out, "{}", wrapped("waited for a CPU: ", &told))?;
    }
    if !much.is_empty() || !little.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Thousands and millions, as the figures run from one to a hundred million.
fn value(value: &Option<Estimate>) -> String {
    let Some(estimate) = value else { return dash() };
    let (scale, suffix) = match estimate.median {
        median if median >= 1e6 => (1e-6, " M"),
        median if median >= 1e4 => (1e-3, " k"),
        _ => (1.0, ""),
    };
    text::scaled(estimate, scale) + suffix
}

fn sharing(out: &mut impl Write, sharing: &[SharedKernel]) -> io::Result<()> {
    let rows: Vec<_> = sharing
        .iter()
        .map(|row| {
            let rate = |rate: &Option<Estimate>| rate.as_ref().map_or_else(dash, text::estimate);
            [
                text::tame(&row.kernel),
                text::tame(&row.pair_class),
                rate(&row.alone_per_ns),
                rate(&row.together_per_ns),
                row.ratio.as_ref().map_or_else(dash, text::ratio),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let header = ["kernel", "pair", "alone, steps/ns", "together", "ratio (95 %)"];
    writeln!(out, "{}\n", table(header, 2, rows))
}

fn peers(out: &mut impl Write, peers: &[WorkloadPeer]) -> io::Result<()> {
    let rows: Vec<_> = peers
        .iter()
        .map(|row| {
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            let verdict = match (row.agrees, &row.not_available) {
                (Some(true), _) => "agrees".into(),
                (Some(false), _) => "differs".into(),
                (None, Some(why)) => text::short(&text::reason(why), 60),
                (None, None) if row.ratio.is_some() => "undecided".into(),
                (None, None) => dash(),
            };
            [
                test(&row.test),
                verdict,
                value(&row.value),
                value(&row.ours),
                row.ratio.map_or_else(dash, |ratio| format!("{ratio:.3}")),
                row.tolerance.map_or_else(dash, percent),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let header = ["test", "", "theirs", "ours", "ratio", "within"];
    writeln!(out, "{}\n", table(header, 2, rows))
}

/// The clock over the run, as a line.
fn clock(out: &mut impl Write, workloads: &Workloads) -> io::Result<()> {
    let ghz: Vec<f64> = workloads.clock.iter().map(|point| point.ghz).collect();
    let mut sorted = ghz.clone();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return Ok(()) };
    let seconds = workloads.clock.last().map_or(0.0, |point| point.at_s);
    writeln!(
        out,
        "Clock {} to {} GHz, middle {}, by {} during samples over {seconds:.1} s:",
        text::printed(*least),
        text::printed(*most),
        text::printed(sorted[sorted.len() / 2]),
        text::count(sorted.len(), "look"),
    )?;
    writeln!(out, "{}", timeline::bars(&ghz))?;
    let hottest = workloads.temperature.iter().map(|point| point.celsius).reduce(f64::max);
    hottest.map_or(Ok(()), |celsius| writeln!(out, "Hottest: {celsius:.0} °C"))
}

/// The test's short name.
fn test(name: &str) -> String {
    name.parse::<Test>().map_or_else(|_| text::tame(name), |test| test.to_string())
}

fn copies(n: u32) -> String {
    if n == 1 { "1 copy".into() } else { format!("{n} copies") }
}

fn dash() -> String {
    "–".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_took_is_told_of_every_row() {
        let row = |test: &str, steal, waiting| WorkloadResult {
            test: test.into(),
            placement: "compact".into(),
            copies: 2,
            steal_s: Some(steal),
            psi_cpu_some: Some(waiting),
            ..WorkloadResult::default()
        };
        let results = vec![row("pipe_throughput", 0.5, 0.04), row("process_creation", 0.01, 0.03)];
        let mut told = Vec::new();
        disturbed(&mut told, &Workloads { results, ..Workloads::default() }).unwrap();
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("disturbed: pipe, compact, 2 copies: the host took 0.50 s\n"), "{told}");
        assert!(told.contains("at most 0.01 s in any other row"), "{told}");
        assert!(told.contains("waited for a CPU: a task did at most 4 %"), "{told}");
        assert!(!told.contains("spawn"), "{told}");
        assert!(!told.contains("other work"), "nothing is known of it: {told}");
        let said = |busy: f64| {
            let mut workloads =
                Workloads { results: vec![row("pipe_throughput", 0.0, 0.9)], ..Workloads::default() };
            workloads.method.parameters.insert("busy_before".into(), busy.into());
            let mut told = Vec::new();
            disturbed(&mut told, &workloads).unwrap();
            String::from_utf8(told).unwrap()
        };
        assert!(
            said(0.95).contains("other work took: 95 % of the CPUs") && !said(0.02).contains("other work")
        );
    }
}
