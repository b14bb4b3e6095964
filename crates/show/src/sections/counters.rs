//! What reading a performance counter costs, which events may be used, and the clock.

use std::collections::BTreeMap;

use coho_profile::{CounterTool, Counters, Counts, EventTest, Rdpmc};

use super::{Entry, method};
use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Facts, Missing, Row, Section, Table, Text};
use crate::sections::calls::rows::{COLUMNS, COLUMNS_MEANING};
use crate::words;

/// The papers' columns by name, and what a figure's key ends in: Table 4 has all but cycles per instruction.
pub(super) const EVENTS: &[(&str, &str)] = COLUMNS.split_at(8).0;

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "counters", title: "Performance counters and the clock", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let counters = subject.profile.counters.as_ref()?;
    let access = rdpmc(&counters.rdpmc);
    let mut section = ENTRY.section(headline(counters));
    if !counters.tools.is_empty() {
        section.summary(costs(subject, &counters.tools));
    }
    section.summary(Text::labelled("RDPMC", access));
    if let Some(verdict) = tested(&counters.events) {
        section.summary(Text::labelled("events", verdict));
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for tool in &counters.tools {
        reasons.entry(tool.not_available.as_deref().unwrap_or_default()).or_default().push(&tool.name);
    }
    for (why, tools) in reasons.iter().filter(|(why, _)| !why.is_empty()) {
        section.summary(Missing { what: tools.join(", "), why: words::reason(why) });
    }
    if counters.tools.iter().any(counted) {
        section.detail(events_by_tool(&counters.tools));
    }
    if !counters.events.is_empty() {
        section.detail(tests(&counters.events));
    }
    section.detail(instructions(subject, counters));
    section.detail(clock(counters));
    method::add(&mut section.parts, "counters-method", &counters.method);
    Some(section)
}

fn headline(counters: &Counters) -> String {
    let state = availability(&counters.rdpmc);
    match counters.events.iter().filter(|test| test.passed).count() {
        _ if counters.events.is_empty() => format!("reading counters is {state}"),
        passed => format!(
            "reading counters is {state}; {passed} of {} events passed their self-test",
            counters.events.len()
        ),
    }
}

fn availability(rdpmc: &Rdpmc) -> &'static str {
    match (rdpmc.available, rdpmc.trapped) {
        (false, _) => "not available in user mode",
        (true, Some(true)) => "allowed in user mode, but a hypervisor traps every use",
        (true, Some(false)) => "allowed in user mode, and not trapped",
        (true, None) => "allowed in user mode; whether it is trapped is not known",
    }
}

fn rdpmc(rdpmc: &Rdpmc) -> String {
    let times = [(&rdpmc.ns, "ns"), (&rdpmc.ns_with_instructions, "ns while instructions are counted")];
    let times = times
        .into_iter()
        .filter_map(|(ns, unit)| Some(format!("{} {unit}", Figure::from(ns.as_ref()?).text())));
    let note = rdpmc.note.as_deref().map(|note| words::short(note, 400));
    let state = std::iter::once(availability(rdpmc).to_owned());
    state.chain(times).chain(note).collect::<Vec<_>>().join("; ")
}

/// How many events passed; where all fail alike, why.
fn tested(events: &[EventTest]) -> Option<String> {
    let first = events.first()?;
    if events.iter().all(|test| !test.passed && test.why == first.why) {
        return Some(format!("none of {} passed: {}", events.len(), words::reason(&first.why)));
    }
    let passed = events.iter().filter(|test| test.passed).count();
    Some(format!("{passed} of {} passed their self-test, work of known effect", events.len()))
}

/// A tool's name as comparisons know it: the papers' where Table 4 has the like, a start and a stop.
pub(super) fn tool_name(name: &str) -> &str {
    match name {
        "user-level tool" => "user-level start and stop",
        "kernel-level tool (perf_event_open only)" => "perf_event start and stop",
        "PAPI" => "PAPI start and stop",
        other => other,
    }
}

/// Whether any event of a tool's operation was counted.
pub(super) fn counted(tool: &CounterTool) -> bool {
    [&tool.user, &tool.kernel].into_iter().flat_map(events).any(|cell| cell != Cell::Nothing)
}

/// Counts in the order of [`EVENTS`].
pub(super) fn events(counts: &Counts) -> [Cell; 8] {
    let Counts { L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL } = counts;
    [L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL].map(|count| {
        Cell::maybe(count.as_ref().map(|count| {
            let format = match count.median {
                value if value.fract() == 0.0 => Format::Whole,
                value if value.abs() < 100.0 => Format::Printed,
                _ => Format::Digits,
            };
            Figure::within(count.median, None, count.n).format(format)
        }))
    })
}

fn costs(subject: &Subject, tools: &[CounterTool]) -> Table {
    let row = |tool: &CounterTool| {
        let name = tool_name(&tool.name);
        Row::new([
            words::short(name, 60).into(),
            Cell::maybe(tool.ns.as_ref().map(|ns| subject.figure(ns))),
            Cell::maybe(tool.kernel_entries.map(|n| Figure::exact(n).format(Format::Tenths))),
        ])
        .keyed(format!("counters.{name}"), name)
    };
    Table::new("counter-costs", "What counting costs, an operation")
        .columns([
            Column::text("tool and operation"),
            Column::figures("time", "ns").compared("ns"),
            Column::figures("kernel entries", ""),
        ])
        .rows(tools.iter().filter(|tool| tool.ns.is_some() || tool.kernel_entries.is_some()).map(row))
}

fn events_by_tool(tools: &[CounterTool]) -> Table {
    let rows = |tool: &CounterTool| {
        let name = tool_name(&tool.name).to_owned();
        [("user", events(&tool.user)), ("kernel", events(&tool.kernel))].map(|(side, counts)| {
            let names = [Cell::from(words::short(&name, 60)), side.into()];
            Row::new(names.into_iter().chain(counts))
                .keyed(format!("counters.{name}.{side}"), format!("{name}, {side}"))
        })
    };
    Table::new("counter-events", "Events of an operation")
        .columns([Column::text("tool"), Column::text("side")])
        .columns(EVENTS.iter().map(|(name, key)| Column::figures(*name, "").compared(key)))
        .rows(tools.iter().filter(|tool| counted(tool)).flat_map(rows))
        .note(COLUMNS_MEANING)
}

fn tests(events: &[EventTest]) -> Table {
    let row = |test: &EventTest| {
        let passed = match (test.passed, test.chosen) {
            (true, true) => "yes, used",
            (true, false) => "yes",
            (false, _) => "no",
        };
        let texts = [words::short(&test.event, 120), passed.to_owned(), words::short(&test.why, 300)];
        Row::new(std::iter::once(words::short(&test.name, 40)).chain(texts).map(Cell::from))
    };
    Table::new("event-tests", "Events checked against work of known effect")
        .columns(["column", "event", "passed", "why"].map(Column::text))
        .rows(events.iter().map(row))
}

/// Single instructions of which the other figures are made.
fn instructions(subject: &Subject, counters: &Counters) -> Table {
    let costs = [
        ("rdpmc", "reading a counter in user mode", &counters.rdpmc.ns),
        ("cpuid", "CPUID", &counters.cpuid_ns),
        ("empty", "two readings of the clock", &counters.empty_ns),
    ];
    let row = |(id, label, ns): (&str, &str, &Option<_>)| {
        Some(
            Row::new([label.into(), subject.figure(ns.as_ref()?).into()])
                .keyed(format!("counters.{id}"), label),
        )
    };
    Table::new("instructions", "Single instructions")
        .columns([Column::text("what"), Column::figures("time", "ns").compared("ns")])
        .rows(costs.into_iter().filter_map(row))
}

fn clock(counters: &Counters) -> Option<Facts> {
    let clock = counters.clock.as_ref()?;
    // The first CPU is at no distance from itself.
    let others = || clock.offsets.iter().filter(|offset| offset.uncertainty_ns > 0.0);
    let worst = others().max_by(|a, b| a.ns.abs().total_cmp(&b.ns.abs())).map(|worst| {
        format!(
            "{} compared with the first: at most {} ns (CPU {}), known to ±{} ns",
            words::count(others().count(), "CPU"),
            words::number(worst.ns),
            worst.cpu,
            words::number(worst.uncertainty_ns)
        )
    });
    let optional = [
        ("source", Some(words::short(&clock.source, 80))),
        ("frequency", clock.ghz.map(|ghz| format!("{ghz:.3} GHz"))),
        ("step", Some(format!("{} ns", words::number(clock.step_ns)))),
        ("one rate in all states", clock.invariant.map(|yes| if yes { "yes" } else { "no" }.to_owned())),
        ("offsets", worst),
    ];
    let facts = optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Some(Facts { id: "clock", title: "The clock".to_owned(), facts, compared: false })
}

#[cfg(test)]
mod tests_of_parts {
    use coho_profile::{Estimate, Profile};

    use super::*;
    use crate::part::Body;

    fn of(counters: Counters) -> Section {
        section(&Subject::new("mine", Profile { counters: Some(counters), ..Profile::default() })).unwrap()
    }

    #[test]
    fn tools_that_lack_a_figure_for_one_reason_tell_it_once() {
        let tool = |name: &str| CounterTool {
            name: name.into(),
            ns: Some(Estimate::exact(310.0)),
            not_available: Some("no PMU".into()),
            ..CounterTool::default()
        };
        let section = of(Counters { tools: vec![tool("read"), tool("stop")], ..Counters::default() });
        let missing = section.parts.iter().filter_map(|part| match &part.body {
            Body::Missing(missing) => Some((missing.what.as_str(), missing.why.as_str())),
            _ => None,
        });
        assert_eq!(missing.collect::<Vec<_>>(), [("read, stop", "no PMU")]);
        assert_eq!(section.headline, "reading counters is not available in user mode");
    }

    #[test]
    fn events_that_all_fail_alike_are_told_once() {
        let test = |why: &str, passed| EventTest { why: why.into(), passed, ..EventTest::default() };
        let alike = tested(&[test("no counters", false), test("no counters", false)]);
        assert_eq!(alike.unwrap(), "none of 2 passed: no counters");
        let apart = tested(&[test("6144 of 6144", true), test("0 of 1024", false)]).unwrap();
        assert!(apart.starts_with("1 of 2 passed"), "{apart}");
        assert_eq!(tested(&[]), None);
    }

    #[test]
    fn the_papers_tools_have_the_keys_of_what_is_measured() {
        let subject = Subject::only("published:shimosawa-hori-ishikawa").unwrap();
        let table = events_by_tool(&subject.profile.counters.unwrap().tools);
        let ids: Vec<_> = table.rows.iter().map(|row| row.key.as_ref().unwrap().id.as_str()).collect();
        assert!(ids.contains(&"counters.PAPI start and stop.kernel") && ids.len() == 6, "{ids:?}");
        assert_eq!(table.columns[7].key, Some("INS.instructions"));
    }
}
