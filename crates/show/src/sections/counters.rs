//! What reading a performance counter costs, which events may be used, and the clock.

use coho_profile::{CounterTool, Counters, Counts, EventTest, Rdpmc};

use crate::sections::calls::rows::{COLUMNS, COLUMNS_MEANING};
use crate::sections::prelude::*;

/// The papers' columns by name, and what a figure's key ends in: Table 4 has all but cycles per instruction.
pub(super) const EVENTS: &[(&str, &str)] = COLUMNS.split_at(8).0;

pub(super) const ENTRY: Entry =
    Entry { id: "counters", title: "Performance counters and the clock", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let counters = subject.profile.counters.as_ref()?;
    let mut section = ENTRY.section(headline(counters));
    section.summary(costs(subject, &counters.tools));
    section.summary(Text::labelled("RDPMC", rdpmc(&counters.rdpmc)));
    section.summary(tested(&counters.events).map(|verdict| Text::labelled("events", verdict)));
    section.summary(Missing::by_reason(counters.tools.iter().filter_map(|tool| {
        let why = tool.not_available.as_deref().filter(|why| !why.is_empty())?;
        Some((tool.name.as_str(), why))
    })));
    section.detail(events_by_tool(&counters.tools));
    section.detail(tests(&counters.events));
    section.detail(instructions(subject, counters));
    section.detail(clock(counters));
    method::add(&mut section.parts, "counters-method", &counters.method);
    Some(section)
}

fn headline(counters: &Counters) -> String {
    let state = availability(&counters.rdpmc);
    let (all, passed) = (counters.events.len(), passed(&counters.events));
    let tested = (all > 0).then(|| format!("{passed} of {all} events passed their self-test"));
    words::joined([Some(format!("reading counters is {state}")), tested].into_iter().flatten(), "; ")
}

fn passed(events: &[EventTest]) -> usize {
    events.iter().filter(|test| test.passed).count()
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
    let time = |ns: &Option<_>, unit| Some(format!("{} {unit}", Figure::from(ns.as_ref()?).text()));
    let parts = [
        Some(availability(rdpmc).to_owned()),
        time(&rdpmc.ns, "ns"),
        time(&rdpmc.ns_with_instructions, "ns while instructions are counted"),
        rdpmc.note.as_deref().map(|note| words::short(note, 400)),
    ];
    words::joined(parts.into_iter().flatten(), "; ")
}

/// How many events passed; if all fail alike, why.
fn tested(events: &[EventTest]) -> Option<String> {
    let first = events.first()?;
    if events.iter().all(|test| !test.passed && test.why == first.why) {
        return Some(format!("none of {} passed: {}", events.len(), words::reason(&first.why)));
    }
    Some(format!("{} of {} passed their self-test, work of known effect", passed(events), events.len()))
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
    sides(tool).into_iter().flat_map(|(.., counts)| events(counts)).any(|figure| figure.is_some())
}

/// A tool's name, and its counts by the side that they were counted on.
pub(super) fn sides(tool: &CounterTool) -> [(&str, &'static str, &Counts); 2] {
    [("user", &tool.user), ("kernel", &tool.kernel)]
        .map(|(side, counts)| (tool_name(&tool.name), side, counts))
}

/// Counts in the order of [`EVENTS`].
pub(super) fn events(counts: &Counts) -> [Option<Figure>; 8] {
    let Counts { L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL } = counts;
    [L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL].map(|count| {
        let count = count.as_ref()?;
        let format = match count.median {
            value if value.fract() == 0.0 => Format::Whole,
            value if value.abs() < 100.0 => Format::Printed,
            _ => Format::Digits,
        };
        Some(Figure::within(count.median, None, count.n).format(format))
    })
}

fn costs<'a>(subject: &Subject, tools: &'a [CounterTool]) -> TableOf<&'a CounterTool> {
    let tools = tools.iter().filter(|tool| tool.ns.is_some() || tool.kernel_entries.is_some());
    Table::of("counter-costs", "What counting costs, per operation", tools)
        .text("tool and operation", |tool| words::short(tool_name(&tool.name), 60))
        .compared("time", "ns", "ns", |tool| subject.figure_of(&tool.ns))
        .figures("kernel entries", "", |tool| tool.kernel_entries.map(|n| Format::Tenths.of(n)))
        .keyed(|tool| {
            let name = tool_name(&tool.name);
            (format!("counters.{name}"), name)
        })
}

fn events_by_tool(tools: &[CounterTool]) -> Table {
    let rows = tools.iter().filter(|tool| counted(tool)).flat_map(sides);
    Table::of("counter-events", "Events per operation", rows)
        .text("tool", |(name, ..)| words::short(name, 60))
        .text("side", |(_, side, _)| side)
        .columns(EVENTS.iter().map(|(name, key)| Column::figures(*name, "").compared(key)), |(.., counts)| {
            events(counts)
        })
        .keyed(|(name, side, _)| (format!("counters.{name}.{side}"), format!("{name}, {side}")))
        .note(COLUMNS_MEANING)
        .done()
}

fn tests(events: &[EventTest]) -> TableOf<&EventTest> {
    // Where there are no counters, all have the same reason.
    let whys = distinct(events.iter().map(|test| test.why.as_str()));
    let shared = match whys[..] {
        [why] if events.len() > 1 && !why.is_empty() => Some(words::short(why, 300)),
        _ => None,
    };
    let is_shared = shared.is_some();
    let table = Table::of("event-tests", "Events checked against work of known effect", events)
        .text("column", |test| words::short(&test.name, 40))
        .text("event", |test| words::short(&test.event, 120))
        .text("passed", |test| match (test.passed, test.chosen) {
            (true, true) => "yes, used",
            (true, false) => "yes",
            (false, _) => "no",
        })
        .text("why", move |test| if is_shared { "".into() } else { words::short(&test.why, 300) });
    match shared {
        Some(why) => table.note(format!("All: {why}.")),
        None => table,
    }
}

/// Single instructions that the other figures consist of.
fn instructions(subject: &Subject, counters: &Counters) -> impl Bodies {
    let costs = [
        ("rdpmc", "reading a counter in user mode", &counters.rdpmc.ns),
        ("cpuid", "CPUID", &counters.cpuid_ns),
        ("empty", "two readings of the clock", &counters.empty_ns),
    ];
    Table::of("instructions", "Single instructions", costs.into_iter().filter(|(.., ns)| ns.is_some()))
        .text("what", |(_, label, _)| label)
        .compared("time", "ns", "ns", |(.., ns)| subject.figure_of(ns))
        .keyed(|(id, label, _)| (format!("counters.{id}"), label))
}

fn clock(counters: &Counters) -> Option<Facts> {
    let clock = counters.clock.as_ref()?;
    // The first CPU is at no distance from itself.
    let others = || clock.offsets.iter().filter(|offset| offset.uncertainty_ns > 0.0);
    let worst = others().max_by(|a, b| a.ns.abs().total_cmp(&b.ns.abs())).map(|worst| {
        let compared = words::count(others().count(), "CPU");
        let [ns, error] = [worst.ns, worst.uncertainty_ns].map(words::number);
        format!(
            "{compared} compared with the first: at most {ns} ns (CPU {}), known to ±{error} ns",
            worst.cpu
        )
    });
    Some(Facts::new("clock", "The clock").facts([
        ("source", Some(words::short(&clock.source, 80))),
        ("frequency", clock.ghz.map(|ghz| format!("{ghz:.3} GHz"))),
        ("step", Some(format!("{} ns", words::number(clock.step_ns)))),
        ("one rate in all states", clock.invariant.map(|yes| words::yes_no(yes).to_owned())),
        ("offsets", worst),
    ]))
}

#[cfg(test)]
mod tests_of_parts {
    use coho_profile::{Estimate, Profile};

    use super::*;
    use crate::testing;

    #[test]
    fn tools_that_lack_a_figure_for_one_reason_stand_together() {
        let tool = |name: &str| CounterTool {
            name: name.into(),
            ns: Some(Estimate::exact(310.0)),
            not_available: Some("no PMU".into()),
            ..CounterTool::default()
        };
        let counters = Counters { tools: vec![tool("read"), tool("stop")], ..Counters::default() };
        let profile = Profile { counters: Some(counters), ..Profile::default() };
        let section = section(&Subject::new("mine", profile)).unwrap();
        let Missing { what, why } = testing::missing(&section)[0];
        assert_eq!((what.as_str(), why.as_str()), ("read, stop", "no PMU"));
        assert_eq!(section.headline, "reading counters is not available in user mode");
    }

    #[test]
    fn why_events_all_fail_alike_is_said_once() {
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
        let ids = testing::keys(&table);
        assert!(ids.contains(&"counters.PAPI start and stop.kernel") && ids.len() == 6, "{ids:?}");
        assert_eq!(table.columns[7].key, Some("INS.instructions"));
    }
}
