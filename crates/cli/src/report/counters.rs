//! The page's section on counters: what reading one costs, beside the paper's Table 4, and which events may be used.

use coho_profile::{CounterTool, Counters, Estimate, Rdpmc};
use maud::{Markup, html};

use super::subject::Subject;
use super::{calls, events, tables, text};

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 200;

/// Tables of a profile's counters.
pub fn section(subject: &Subject) -> Markup {
    let Some(counters) = &subject.profile.counters else {
        return html! { p.missing { "Not measured: the profile has no section counters." } };
    };
    let (paper, _) = events::published();
    let beside = if subject.published { &[][..] } else { &paper.tools[..] };
    html! {
        p { (rdpmc(&counters.rdpmc)) }
        h4 { "What counting costs (Shimosawa, Hori & Ishikawa, Table 4)" }
        (tools(&counters.tools, beside))
        p.note { (events::MEANING) ". Published: " (events::MACHINE) ", start and stop with nothing between." }
        (tests(counters))
        (clock(counters))
        (calls::missing(&counters.method.not_available))
        details { summary { "How counters were measured" } (tables::method(&counters.method)) }
    }
}

fn rdpmc(rdpmc: &Rdpmc) -> Markup {
    html! {
        @match (rdpmc.available, rdpmc.trapped) {
            (false, _) => "User mode cannot read a counter here. ",
            (true, Some(true)) => "User mode may read counters, but a hypervisor takes every use of the instruction for itself. ",
            (true, Some(false)) => "User mode may read counters, and no hypervisor takes the instruction for itself. ",
            (true, None) => "User mode may read counters; whether a hypervisor takes the instruction for itself is not known. ",
        }
        @if let Some(ns) = &rdpmc.ns { "One use takes " (text::estimate(ns)) " ns. " }
        @if let Some(ns) = &rdpmc.ns_with_instructions { "While instructions are counted, " (text::estimate(ns)) " ns. " }
        @if let Some(note) = &rdpmc.note { "Note: " (text::short(note, 400)) "." }
    }
}

fn tools(tools: &[CounterTool], published: &[CounterTool]) -> Markup {
    let all =
        tools.iter().take(MOST).map(|tool| (tool, false)).chain(published.iter().map(|tool| (tool, true)));
    // A reason that several tools share is told with the first of them.
    let mut told: Vec<&str> = Vec::new();
    let rows: Vec<_> = all
        .map(|(tool, published)| {
            let why = tool.not_available.as_deref().filter(|why| !told.contains(why));
            told.extend(why);
            (tool, published, why)
        })
        .collect();
    html! {
        div.scroll { table.figures.events.tools {
            thead { tr {
                th scope="col" { "Tool and operation" } th scope="col" { "Side" }
                @for column in &events::COLUMNS[..8] { th scope="col" { (column) } }
                th scope="col" { "ns (95 % interval)" } th scope="col" { "kernel entries" }
            } }
            tbody { @for (tool, published, why) in rows {
                @for (side, counts) in [("user", &tool.user), ("kernel", &tool.kernel)] {
                    tr.published[published] {
                        th scope="row" { @if side == "user" {
                            (text::short(&tool.name, 60)) @if published { small { ", published" } }
                            @if let Some(why) = why { div.reason { (text::short(&text::reason(why), 300)) } }
                        } }
                        td { (side) }
                        @for figure in events::of_counts(counts) { td.number { (events::figure(figure)) } }
                        td.number { @if side == "user" { (tool.ns.as_ref().map_or("–".to_owned(), text::estimate)) } }
                        td.number { @if side == "user" { (events::figure(tool.kernel_entries.map(Estimate::exact).as_ref())) } }
                    }
                }
            } }
        } }
    }
}

fn tests(counters: &Counters) -> Markup {
    let Some(first) = counters.events.first() else { return html! {} };
    let alike = counters.events.iter().all(|test| !test.passed && test.why == first.why);
    let table = html! {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Column" } th scope="col" { "Event" } th scope="col" { "Passed" }
                th scope="col" { "Used" } @if !alike { th scope="col" { "Why" } }
            } }
            tbody { @for test in counters.events.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&test.name, 40)) }
                    td { (text::short(&test.event, 120)) }
                    td { @if test.passed { "yes" } @else { "no" } }
                    td { @if test.chosen { "yes" } }
                    @if !alike { td { (text::short(&test.why, 300)) } }
                }
            } }
        } }
    };
    html! {
        h4 { "Events held against work of known effect" }
        // Where nothing can be counted at all, every event says the same.
        @if alike {
            p { "None of " (counters.events.len()) " passed: " (text::short(&text::reason(&first.why), 300)) "." }
            details { summary { "The events" } (table) }
        } @else { (table) }
    }
}

fn clock(counters: &Counters) -> Markup {
    let ns = |estimate: &Option<_>| estimate.as_ref().map(|ns| format!("{} ns", text::estimate(ns)));
    let clock = counters.clock.as_ref();
    // The first CPU is at no distance from itself.
    let others =
        || clock.iter().flat_map(|clock| &clock.offsets).filter(|offset| offset.uncertainty_ns > 0.0);
    let offsets = (others().count() > 0).then(|| {
        let worst = others().map(|offset| offset.ns.abs()).fold(0.0, f64::max);
        let known = others().map(|offset| offset.uncertainty_ns).fold(0.0, f64::max);
        let cpus = text::count(others().count(), "CPU");
        format!("{cpus}: at most {} ns, known to ±{} ns", text::number(worst), text::number(known))
    });
    let rows = [
        ("Clock", clock.map(|clock| text::short(&clock.source, 80))),
        ("Its frequency", clock.and_then(|clock| clock.ghz).map(|ghz| format!("{ghz:.3} GHz"))),
        ("Its step", clock.map(|clock| format!("{} ns", text::number(clock.step_ns)))),
        (
            "One rate in all states",
            clock.and_then(|clock| clock.invariant).map(|yes| if yes { "yes" } else { "no" }.to_owned()),
        ),
        ("Offsets from the first CPU", offsets),
        ("Two readings, nothing between", ns(&counters.empty_ns)),
        ("CPUID", ns(&counters.cpuid_ns)),
    ];
    html! { @if rows.iter().any(|(_, value)| value.is_some()) {
        h4 { "The clock" }
        div.scroll { table.facts {
            @for (name, value) in rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
                tr { th scope="row" { (name) } td { (value) } }
            }
        } }
    } }
}

#[cfg(test)]
mod tests_of_the_page {
    use super::*;

    #[test]
    fn table_4_stands_below_a_profile_that_counted_nothing() {
        let mut subject = Subject::load("published:shimosawa-hori-ishikawa").unwrap().remove(0);
        subject.published = false;
        subject.profile.counters = Some(Counters {
            tools: vec![CounterTool {
                name: "<b>read".into(),
                not_available: Some("no PMU".into()),
                ..CounterTool::default()
            }],
            ..Counters::default()
        });
        let page = section(&subject).into_string();
        for text in ["&lt;b&gt;read", "no PMU", "User mode cannot read", "PAPI", "5741", "0.66"] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
