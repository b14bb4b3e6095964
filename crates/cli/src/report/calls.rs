//! The page's section on calls: the paper's Tables 5 to 7 beside this profile's, damage and judgements.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{CacheState, Call, CallMethod, Calls, Estimate, Judgement, Side};
use maud::{Markup, html};

use super::charts::{self, Chart};
use super::subject::Subject;
use super::{delegation, events, tables, text};

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 200;

/// The paper's calls; none beside the paper itself.
fn beside(subject: &Subject) -> Calls {
    if subject.published { Calls::default() } else { events::published().1 }
}

/// Charts and tables of a profile's calls. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let Some(calls) = &subject.profile.calls else {
        return html! { p.missing { "Not measured: the profile has no section calls." } };
    };
    let beside = beside(subject);
    let bars: Vec<Markup> = events::SETS
        .iter()
        .filter_map(|(set, title)| {
            let bars = Bars::of_subject(subject, set);
            let caption = html! {
                strong { (title) ". " }
                "Time of a call by the state of the caches, logarithmic; a cold call brings in again what it uses. "
                @if bars.converted { "Of the profile, cycles at its clock. " }
                @if bars.series.iter().any(|series| series.published) {
                    "Grey: " (events::MACHINE) ", the paper's cycles at its 2.67 GHz"
                    @if *set == "syscalls" { ", in the kernel alone" } "."
                }
            };
            let chart = charts::calls(format!("{id}-{set}"), title, &bars);
            (!bars.series.is_empty()).then(|| figure(chart, &caption))
        })
        .collect();
    let curve = (!calls.calibration.is_empty()).then(|| {
        let caption = html! {
            strong { "Calibration of the timing method. " }
            "Lines of a primed set that were seen evicted, against lines that a victim of known size touched at random places. "
            "A call's footprint is read off this curve backwards; bars are 95 % intervals of the median."
        };
        figure(charts::calibration(format!("{id}-calibration"), &calls.calibration), &caption)
    });
    let curves = delegation::section(calls, &beside, id, &mut figure);
    html! {
        (curves)
        p { (method(calls.method)) }
        @for bar in &bars { (bar) }
        (times(calls, &beside))
        @for (set, title) in events::SETS { (table(calls, &beside, set, title)) }
        p.note { (events::MEANING) ". A dash: not counted, for the reasons below. ~: the time by the measured clock, not counted." }
        (damage(calls))
        @if let Some(curve) = &curve { (curve) }
        (judgements(calls, &beside))
        (missing(&calls.conditions.not_available))
        details { summary { "How calls were measured" } (tables::method(&calls.conditions)) }
        @if let Some(conditions) = &calls.footprint_conditions {
            (missing(&conditions.not_available))
            details { summary { "How calls at home and on another core were measured" } (tables::method(conditions)) }
        }
    }
}

fn method(method: CallMethod) -> &'static str {
    match method {
        CallMethod::Pmu => "Counted by performance counters.",
        CallMethod::Timing => {
            "Measured by time alone (prime and probe): no counter counts here, and what only one can tell is a dash."
        }
    }
}

/// What was not available and why, below what it concerns.
pub fn missing(reasons: &BTreeMap<String, String>) -> Markup {
    html! { @if !reasons.is_empty() {
        ul.notes { @for (what, why) in reasons.iter().take(MOST) {
            li { "Not available: " (text::short(what, 80)) ": " (text::short(&text::reason(why), 300)) }
        } }
    } }
}

/// Cold and warm times of a set's calls.
pub struct Bars {
    /// Names along the axis.
    pub names: Vec<String>,
    /// Bars of one kind.
    pub series: Vec<Series>,
    /// Whether the profile's own times come from cycles.
    pub converted: bool,
}

/// A bar for each name, where there is a figure.
pub struct Series {
    pub state: CacheState,
    pub published: bool,
    /// In ns.
    pub ns: Vec<Option<f64>>,
}

impl Bars {
    /// Of a profile's calls and the paper's.
    pub fn of_subject(subject: &Subject, set: &str) -> Self {
        let none = Calls::default();
        let calls = subject.profile.calls.as_ref().unwrap_or(&none);
        Self::of(calls, &beside(subject), set, subject.clock_ghz())
    }

    fn of(calls: &Calls, paper: &Calls, set: &str, ghz: Option<f64>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for call in calls.calls.iter().filter(|call| call.set == set) {
            if !names.contains(&call.name) && names.len() < 40 {
                names.push(call.name.clone());
            }
        }
        let mut converted = false;
        let mut series = Vec::new();
        for (of, published) in [(calls, false), (paper, true)] {
            for state in events::STATES {
                let ghz = if published { Some(PAPER_GHZ) } else { ghz };
                let name = |name: &String| {
                    if published { events::over_tcp(name).unwrap_or(name).to_owned() } else { name.clone() }
                };
                let times: Vec<_> =
                    names.iter().map(|known| time(of, set, &name(known), state, ghz)).collect();
                converted |= !published && times.iter().flatten().any(|(_, converted)| *converted);
                let ns: Vec<_> = times.into_iter().map(|time| time.map(|(ns, _)| ns)).collect();
                if ns.iter().any(Option::is_some) {
                    series.push(Series { state, published, ns });
                }
            }
        }
        Self { names, series, converted }
    }
}

/// The clock of the paper's machine, which does not change: Turbo Boost is off.
pub const PAPER_GHZ: f64 = 2.67;

/// A call's time in ns, and whether it had to be converted from cycles: as programs issue it where that was measured, but of
/// the paper's system calls the instruction, which the paper's stands beside.
fn time(calls: &Calls, set: &str, name: &str, state: CacheState, ghz: Option<f64>) -> Option<(f64, bool)> {
    let rows = || calls.calls.iter().filter(|call| call.name == name && call.state == state);
    let in_form = |wrapped: bool| {
        let form = || rows().filter(move |call| call.wrapped == wrapped);
        let sum = |figure: fn(&Call) -> Option<&Estimate>| -> Option<f64> {
            if let Some(both) = form().filter(|call| call.side == Side::Both).find_map(figure) {
                return Some(both.median);
            }
            let mut sides = form().filter(|call| call.side != Side::Both).peekable();
            sides.peek()?;
            sides.map(|call| figure(call).map(|estimate| estimate.median)).sum()
        };
        let ns = sum(|call| call.ns.as_ref()).map(|ns| (ns, false));
        ns.or_else(|| Some((sum(|call| call.counts.CYCLE.as_ref())? / ghz?, true)))
    };
    let first = set != "syscalls";
    in_form(first).or_else(|| in_form(!first)).filter(|(ns, _)| ns.is_finite() && *ns > 0.0)
}

/// Cold and warm times of all calls, and the lines that they use.
fn times(calls: &Calls, paper: &Calls) -> Markup {
    let rows = events::times(calls);
    let published = |call: &Call| {
        let name = events::over_tcp(&call.name).unwrap_or(&call.name);
        let alike = call.set != "syscalls" || !call.wrapped;
        paper.judgements.iter().find(|other| alike && other.name == name)?.warm_over_cold
    };
    let ns = |ns: Option<&Estimate>| ns.map_or("–".to_owned(), text::estimate);
    // Single steps see the user's side: a row of its own.
    let lines = |call: &Call, lines: fn(&Call) -> Option<u64>| {
        let same =
            calls.calls.iter().filter(|other| (&other.name, other.wrapped) == (&call.name, call.wrapped));
        same.filter_map(lines).next().map_or("–".to_owned(), |lines| lines.to_string())
    };
    html! { @if !rows.is_empty() {
        h4 { "Times and lines" }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Call" } th scope="col" { "Form" } th scope="col" { "Cold, ns (95 % interval)" }
                th scope="col" { "Second, ns (95 % interval)" } th scope="col" { "Steady, ns (95 % interval)" }
                th scope="col" { "Second / cold" } th scope="col" { "published" }
                th scope="col" { "Data lines" } th scope="col" { "Code, user" } th scope="col" { "Data, user" }
            } }
            tbody { @for times in rows.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&times.call.name, 40)) }
                    td { (events::form(times.call)) " " (events::side(times.call.side)) }
                    td.number { (ns(times.cold)) }
                    td.number { (ns(times.second)) }
                    td.number { (ns(times.warm)) }
                    td.number { (events::percent(times.ratio())) }
                    td.number.published { (events::percent(published(times.call))) }
                    td.number { (times.call.footprint_lines.as_ref().map_or("–".to_owned(), text::estimate)) }
                    td.number { (lines(times.call, |call| call.code_lines)) }
                    td.number { (lines(times.call, |call| call.data_lines)) }
                }
            } }
        } }
        p.note { (events::STATES_MEANING) @if let Some(how) = events::cleared(calls) { " (" (how) ")" } ". libc: through the C library's function; bare: the instruction in the loop. Published: " (events::MACHINE)
            ", by cycles. Data lines: used in the level-1 cache, estimated; code and data of user mode: by single steps, exact." }
    } }
}

/// A set's events, the paper's below.
fn table(calls: &Calls, paper: &Calls, set: &str, title: &str) -> Markup {
    let rows = events::beside(calls, paper, set);
    html! { @if !rows.is_empty() {
        h4 { (title) }
        @if set == "mpi" { p.note { (events::TRANSPORTS) "." } }
        @if rows.iter().all(|(_, published)| *published) && !paper.calls.is_empty() {
            p.missing { "Here nothing was counted; published:" }
        }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Call" } th scope="col" { "Form" } th scope="col" { "Side" } th scope="col" { "Caches" }
                @for column in events::COLUMNS { th scope="col" { (column) } }
            } }
            tbody { @for (call, published) in rows.iter().take(MOST) {
                tr.published[*published] {
                    th scope="row" { (text::short(&call.name, 40)) @if *published { small { ", published" } } }
                    td { (events::form(call)) } td { (events::side(call.side)) } td { (events::state(call.state)) }
                    @for (column, figure) in events::of_call(call).into_iter().enumerate() {
                        (cell(figure, call.by_clock && matches!(column, 6 | 8)))
                    }
                }
            } }
        } }
    } }
}

fn cell(figure: Option<&Estimate>, by_clock: bool) -> Markup {
    html! { @match figure {
        Some(_) => td.number { @if by_clock { "~" } (events::figure(figure)) },
        None => td.number.missing { "–" },
    } }
}

fn damage(calls: &Calls) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    let sizes: BTreeSet<u64> = calls.damage.iter().map(|damage| damage.set_bytes).take(MOST).collect();
    for damage in calls.damage.iter().take(MOST * 10) {
        if !names.contains(&damage.name.as_str()) {
            names.push(&damage.name);
        }
    }
    if names.is_empty() {
        return html! {};
    }
    let of = |name: &str, bytes: u64| {
        calls.damage.iter().find(|damage| damage.name == name && damage.set_bytes == bytes)
    };
    html! {
        h4 { "Damage to the caller's caches" }
        p { "Extra time of walking a working set again after a call, and lines of it that were no longer where they were; " (events::SIGNS_MEANING) "." }
        div.scroll { table.figures {
            thead { tr { th scope="col" { "Call" } @for bytes in &sizes { th scope="col" { (text::bytes(*bytes)) } } } }
            tbody { @for name in &names { tr {
                th scope="row" { (text::short(name, 40)) }
                @for &bytes in &sizes {
                    @match of(name, bytes) {
                        Some(damage) => td.number {
                            (damage.ns.as_ref().map_or("–".to_owned(), |ns| format!("{} ns", events::beyond_noise(ns))))
                            @if let Some(lines) = &damage.lines { br; small { (events::beyond_noise(lines)) " lines" } }
                        },
                        None => td.number.missing { "–" },
                    }
                }
            } } }
        } }
    }
}

fn judgements(calls: &Calls, paper: &Calls) -> Markup {
    if calls.judgements.is_empty() {
        return html! {};
    }
    let published = |judgement: &Judgement| {
        let name = events::over_tcp(&judgement.name).unwrap_or(&judgement.name);
        paper.judgements.iter().find(move |other| other.name == name)
    };
    let kib = |kib: Option<f64>| kib.map_or("–".to_owned(), |kib| format!("{kib:.1}"));
    let ns = |ns: Option<f64>| ns.map_or("–".to_owned(), |ns| format!("{ns:.0}"));
    let (state, over_cold) = events::over_cold(calls);
    let is_second = state == "second";
    html! {
        h4 { "What a call costs its caller, and a message to another core" }
        p { "Cost: the call in a loop, as programs issue it, and its damage to the caller's caches. Channel: a message to another core "
            "and back. Whether another core should execute the call is not decided by these figures." }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Call" } th scope="col" { "Footprint, KiB" } th scope="col" { (if is_second { "Second / cold" } else { "Steady / cold" }) }
                th scope="col" { "Cost, ns" } th scope="col" { "Channel, ns" } th scope="col" { "Figures" }
            } }
            tbody { @for judgement in calls.judgements.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&judgement.name, 40)) }
                    td.number { (kib(judgement.footprint_kib))
                        @if let Some(paper) = published(judgement) { br; small { "published " (kib(paper.footprint_kib)) } } }
                    td.number { (events::percent(over_cold(judgement)))
                        @if let Some(paper) = published(judgement).filter(|_| is_second) { br; small { "published " (events::percent(paper.warm_over_cold)) } } }
                    td.number { (ns(judgement.cost_ns)) }
                    td.number { (ns(judgement.channel_ns)) }
                    td { (text::short(&judgement.why, 600)) }
                }
            } }
        } }
        @if let Some(holds) = calls.judgements.iter().find_map(|judgement| judgement.channel_holds.as_ref()) {
            p.note { "Channel: " (text::short(holds, 400)) "." }
        }
        p.note {
            @match calls.method {
                CallMethod::Pmu => "Footprint: lines that a cold call missed in the level-2 cache.",
                CallMethod::Timing => "Footprint: data lines used in the level-1 cache and code lines of user mode; published: lines missed in the level-2 cache, which is another measure.",
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> Subject {
        Subject::load("published:shimosawa-hori-ishikawa").unwrap().remove(0)
    }

    #[test]
    fn the_papers_tables_are_printed_whole() {
        let mut charts = Vec::new();
        let page = section(&paper(), "s0-calls", |chart, _| {
            charts.push(chart.id);
            html! {}
        });
        let page = page.into_string();
        assert_eq!(charts, ["s0-calls-syscalls", "s0-calls-libc", "s0-calls-mpi"]);
        for figure in ["36018", "17.02", "22512", "12720", "6.4 %", "25.3"] {
            assert!(page.contains(figure), "{figure}");
        }
    }

    #[test]
    fn bars_are_times_in_ns_whatever_was_measured() {
        let calls = paper().profile.calls.unwrap();
        let bars = Bars::of(&calls, &Calls::default(), "syscalls", Some(2.0));
        let write = bars.names.iter().position(|name| name == "write").unwrap();
        assert!(bars.converted);
        assert_eq!(bars.series[0].ns[write], Some(18_009.0));
        assert!(Bars::of(&calls, &Calls::default(), "syscalls", None).series.is_empty(), "no clock, no time");
    }
}
