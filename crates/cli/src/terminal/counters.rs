//! What reading a counter costs, for people.

use std::io::{self, Write};

use coho_profile::{CounterTool, Counters, Estimate, EventTest};

use super::table::{dense, table, wrapped};
use crate::report::{events, text};

/// Writes what tools cost, beside the paper's Table 4, which events may be used, and the clock.
pub fn write(out: &mut impl Write, counters: &Counters) -> io::Result<()> {
    times(out, counters)?;
    table_4(out, counters)?;
    self_tests(out, &counters.events)?;
    findings(out, counters)?;
    clock(out, counters)?;
    for (what, why) in &counters.method.not_available {
        writeln!(
            out,
            "{}",
            wrapped("", &format!("not available: {}: {}", text::tame(what), text::reason(why)))
        )?;
    }
    if counters.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

fn ns(estimate: &Option<Estimate>) -> String {
    estimate.as_ref().map_or_else(|| "–".to_owned(), text::estimate)
}

/// Time and kernel entries of each tool, with a number at the foot for each reason that a figure is missing.
fn times(out: &mut impl Write, counters: &Counters) -> io::Result<()> {
    if counters.tools.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for tool in &counters.tools {
        let mark = tool.not_available.as_deref().map_or_else(String::new, |why| {
            let known = reasons.iter().position(|known| *known == why).unwrap_or_else(|| {
                reasons.push(why);
                reasons.len() - 1
            });
            format!(" [{}]", known + 1)
        });
        let entries = events::figure(tool.kernel_entries.map(Estimate::exact).as_ref());
        rows.push([text::tame(&tool.name) + &mark, ns(&tool.ns), entries]);
    }
    writeln!(out, "What counting costs, ns an operation")?;
    writeln!(out, "{}", table(["tool and operation", "ns (95 %)", "kernel entries"], 1, rows))?;
    for (number, why) in reasons.iter().enumerate() {
        writeln!(out, "{}", wrapped(&format!("[{}] ", number + 1), &text::reason(why)))?;
    }
    writeln!(out)
}

/// The paper's Table 4: this machine's tools where they were counted, then the paper's.
fn table_4(out: &mut impl Write, counters: &Counters) -> io::Result<()> {
    let (paper, _) = events::published();
    let counted = |tool: &&CounterTool| {
        [&tool.user, &tool.kernel].into_iter().any(|side| events::of_counts(side).iter().any(Option::is_some))
    };
    let here: Vec<_> = counters.tools.iter().filter(counted).collect();
    let sides = |tool: &CounterTool| {
        [("user", &tool.user), ("kernel", &tool.kernel)].map(|(side, counts)| {
            let name = if side == "user" { text::short(&tool.name, 40) } else { String::new() };
            let figures = events::of_counts(counts).map(events::figure);
            [name, side.to_owned()].into_iter().chain(figures).collect::<Vec<_>>()
        })
    };
    let header = [&["tool", "side"], &events::COLUMNS[..8]].concat();
    writeln!(out, "Events of an operation (Shimosawa, Hori & Ishikawa, Table 4)")?;
    if here.is_empty() {
        writeln!(out, "here: – for all: no counter counts on this machine; see below")?;
    } else {
        writeln!(out, "{}", dense(&header, 2, here.into_iter().flat_map(sides).collect()))?;
    }
    writeln!(out, "published, {}, start and stop:", events::MACHINE)?;
    writeln!(out, "{}", dense(&header, 2, paper.tools.iter().flat_map(sides).collect()))?;
    writeln!(out, "{}\n", wrapped("", events::MEANING))
}

fn self_tests(out: &mut impl Write, tests: &[EventTest]) -> io::Result<()> {
    let Some(first) = tests.first() else { return Ok(()) };
    // Where nothing can be counted at all, every event says the same.
    if tests.iter().all(|test| !test.passed && test.why == first.why) {
        let told = format!("none of {} passed: {}", tests.len(), text::reason(&first.why));
        return writeln!(
            out,
            "{}\n",
            wrapped("", &format!("Events held against work of known effect: {told}"))
        );
    }
    let row = |test: &EventTest| {
        let passed = match (test.passed, test.chosen) {
            (true, true) => "yes, used",
            (true, false) => "yes",
            (false, _) => "no",
        };
        [text::tame(&test.name), text::short(&test.event, 60), passed.to_owned(), text::short(&test.why, 160)]
    };
    writeln!(out, "Events held against work of known effect")?;
    writeln!(out, "{}\n", table(["column", "event", "passed", "why"], 4, tests.iter().map(row).collect()))
}

/// Writes what follows: whether user mode may read a counter, and whether a hypervisor takes that for itself.
pub fn findings(out: &mut impl Write, counters: &Counters) -> io::Result<()> {
    let rdpmc = &counters.rdpmc;
    let state = match (rdpmc.available, rdpmc.trapped) {
        (false, _) => "not available in user mode",
        (true, Some(true)) => "allowed in user mode, but a hypervisor takes every use for itself",
        (true, Some(false)) => "allowed in user mode, and not trapped",
        (true, None) => "allowed in user mode; whether it is trapped is not known",
    };
    let mut told = vec![state.to_owned()];
    if let Some(ns) = &rdpmc.ns {
        told.push(format!("{} ns", text::estimate(ns)));
    }
    if let Some(ns) = &rdpmc.ns_with_instructions {
        told.push(format!("{} ns while instructions are counted", text::estimate(ns)));
    }
    told.extend(rdpmc.note.as_deref().map(text::tame));
    writeln!(out, "{}", wrapped("RDPMC      ", &told.join("; ")))?;
    if !counters.events.is_empty() {
        let passed = counters.events.iter().filter(|event| event.passed).count();
        writeln!(out, "events     {passed} of {} passed their self-test", counters.events.len())?;
    }
    Ok(())
}

fn clock(out: &mut impl Write, counters: &Counters) -> io::Result<()> {
    for (name, ns) in [("CPUID", &counters.cpuid_ns), ("empty", &counters.empty_ns)] {
        if let Some(ns) = ns {
            let what = if name == "empty" { "two readings of the clock, nothing between: " } else { "" };
            writeln!(out, "{name:<10} {what}{} ns", text::estimate(ns))?;
        }
    }
    let Some(clock) = &counters.clock else { return Ok(()) };
    let ghz = clock.ghz.map_or_else(String::new, |ghz| format!(", {ghz:.3} GHz"));
    let rate = match clock.invariant {
        Some(true) => ", at one rate in all states",
        Some(false) => ", not at one rate in all states",
        None => "",
    };
    let step = text::number(clock.step_ns);
    let told = format!("{}{ghz}, step {step} ns{rate}", text::tame(&clock.source));
    writeln!(out, "{}", wrapped("clock      ", &told))?;
    // The first CPU is at no distance from itself.
    let others = || clock.offsets.iter().filter(|offset| offset.uncertainty_ns > 0.0);
    if let Some(worst) = others().max_by(|a, b| a.ns.abs().total_cmp(&b.ns.abs())) {
        let told = format!(
            "{} held against the first; at most {} ns (CPU {}), known to ±{} ns",
            text::count(others().count(), "CPU"),
            text::number(worst.ns),
            worst.cpu,
            text::number(worst.uncertainty_ns)
        );
        writeln!(out, "{}", wrapped("offsets    ", &told))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use coho_profile::{ClockFacts, ClockOffset, Counts, Rdpmc};

    use super::*;

    fn told(counters: &Counters) -> String {
        let mut out = Vec::new();
        write(&mut out, counters).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    #[test]
    fn the_papers_table_stands_beside_also_where_nothing_counts() {
        let why = "no performance counters: CPUID leaf 0xA tells version 0, as hypervisors do that keep them";
        let tool = |name: &str| CounterTool {
            name: name.into(),
            ns: Some(Estimate::exact(310.0)),
            kernel_entries: Some(1.0),
            not_available: Some(why.into()),
            ..CounterTool::default()
        };
        let offset = ClockOffset { cpu: 1, ns: -4.0, uncertainty_ns: 55.0 };
        let clock = ClockFacts { source: "RDTSCP".into(), offsets: vec![offset], ..ClockFacts::default() };
        let counters = Counters {
            tools: vec![tool("perf_event read()"), tool("perf_event ioctl start and stop")],
            rdpmc: Rdpmc { note: Some(why.into()), ..Rdpmc::default() },
            clock: Some(clock),
            ..Counters::default()
        };
        let text = told(&counters);
        assert_eq!(text.matches("[1]").count(), 3, "two marks, one reason: {text}");
        for figure in ["5741", "1469", "0.66", "310", "RDPMC      not available", "CPU 1"] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
    }

    #[test]
    fn events_that_all_fail_alike_are_told_once() {
        let test = |why: &str, passed: bool| EventTest { why: why.into(), passed, ..EventTest::default() };
        let told_of = |events: Vec<EventTest>| told(&Counters { events, ..Counters::default() });
        let alike = told_of(vec![test("no counters", false), test("no counters", false)]);
        assert_eq!(alike.matches("no counters").count(), 1, "{alike}");
        let apart = told_of(vec![test("6144 of 6144", true), test("0 of 1024", false)]);
        assert!(apart.contains("6144 of 6144") && apart.contains("0 of 1024"), "{apart}");
    }

    #[test]
    fn counted_tools_have_rows_of_their_own() {
        let user = Counts { L1DR: Some(Estimate::exact(61.0)), ..Counts::default() };
        let tool = CounterTool { name: "user-level read".into(), user, ..CounterTool::default() };
        let rdpmc = Rdpmc { available: true, trapped: Some(true), ..Rdpmc::default() };
        let text = told(&Counters { tools: vec![tool], rdpmc, ..Counters::default() });
        assert!(
            text.contains("user-level read") && text.contains("61") && text.contains("hypervisor"),
            "{text}"
        );
    }
}
