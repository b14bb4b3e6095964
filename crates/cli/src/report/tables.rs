//! Tables of the page. Crate maud escapes every text that a profile brings.

use std::collections::BTreeMap;

use coho_profile::{Coherence, Method, PairMethod};
use maud::{Markup, html};

use super::figures::{self, Figure, Key};
use super::subject::Subject;
use super::{classes, text};

/// Facts of the host, and what could not be read.
pub fn host(subject: &Subject) -> Markup {
    let Some(host) = &subject.profile.host else {
        return html! { p.missing { "Not recorded in this profile." } };
    };
    let ghz = |value: Option<f64>| value.map(|ghz| format!("{ghz:.3} GHz"));
    let cpus = (!host.allowed_cpus.is_empty()).then(|| cpu_list(&host.allowed_cpus));
    let rows = [
        ("CPU", host.cpu.clone()),
        ("Architecture", host.architecture.clone()),
        ("Hypervisor", host.hypervisor.clone()),
        ("Kernel", host.kernel.clone()),
        ("Distribution", host.os.clone()),
        ("Microcode", host.microcode.clone()),
        ("Firmware", host.firmware.clone()),
        ("Frequency governor", host.governor.clone()),
        ("Boost", host.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("Clock, measured", ghz(host.clock_ghz)),
        ("Time-stamp counter", ghz(host.tsc_ghz)),
        ("Clock source", host.clock_source.clone()),
        ("Timer step", host.timer_step_ns.map(|ns| format!("{} ns", text::number(ns)))),
        ("CPUs allowed", cpus),
        ("Load when begun", host.load_average.map(|load| format!("{load:.2}"))),
        ("Date", host.date.clone()),
        ("coho", host.coho_version.clone()),
    ];
    html! {
        div.scroll { table.facts {
            @for (name, value) in rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
                tr { th scope="row" { (name) } td { (text::short(value, 300)) } }
            }
            @for (name, limit) in &host.limits {
                tr { th scope="row" { "Limit: " (text::short(name, 80)) } td { (text::short(limit, 300)) } }
            }
        } }
        @if !host.mitigations.is_empty() {
            details {
                summary { "Mitigations of speculative execution (" (host.mitigations.len()) ")" }
                (pairs_table(&host.mitigations))
            }
        }
        @if !host.not_available.is_empty() {
            details {
                summary { "Host facts not available (" (host.not_available.len()) ")" }
                (pairs_table(&host.not_available))
            }
        }
    }
}

fn pairs_table(pairs: &BTreeMap<String, String>) -> Markup {
    html! {
        div.scroll { table.facts {
            @for (name, value) in pairs {
                tr { th scope="row" { (text::short(name, 80)) } td { (text::short(value, 300)) } }
            }
        } }
    }
}

/// CPU numbers as the kernel lists them: `0-3,8`.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [cpu] => cpu.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    text::short(&runs.collect::<Vec<_>>().join(","), 200)
}

/// Figures of several profiles side by side; `row` writes the name of a figure.
pub fn side_by_side(subjects: &[&Subject], keep: impl Fn(&Key) -> bool, most: usize) -> Markup {
    let columns: Vec<Vec<Figure>> = subjects.iter().map(|subject| figures::of(subject)).collect();
    let mut keys: Vec<&Key> =
        columns.iter().flatten().map(|figure| &figure.key).filter(|key| keep(key)).collect();
    keys.sort();
    keys.dedup();
    let beyond = keys.len().saturating_sub(most);
    keys.truncate(most);
    if keys.is_empty() {
        return html! { p.missing { "Not measured." } };
    }
    html! {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Figure" } th scope="col" { "Unit" }
                @for subject in subjects {
                    th scope="col" { (text::short(&subject.label, 40)) @if subject.published { br; small { "published" } } }
                }
            } }
            tbody { @for key in &keys {
                tr {
                    th scope="row" { (key.label) } td { (key.unit) }
                    @for column in &columns { (cell(column.iter().find(|figure| figure.key == **key))) }
                }
            } }
        } }
        @if beyond > 0 { p.note { "And " (beyond) " more, in the profiles." } }
    }
}

fn cell(figure: Option<&Figure>) -> Markup {
    html! { @match figure {
        Some(figure) => td.number {
            @if figure.inexact.is_some() { (text::worded(figure.value, figure.interval, figure.inexact)) }
            @else { (text::number(figure.value)) }
            @if let Some((low, high)) = figure.interval.filter(|_| figure.inexact.is_none()) {
                " " small { "(" (text::number(low)) "–" (text::number(high)) ")" }
            }
            @if figure.n > 1 { " " small { "n = " (figure.n) } }
        },
        None => td.number.missing { "–" },
    } }
}

/// Tables 1 and 2 of Kawabe & Furuya: rows as printed there, a column for each machine.
pub fn paper_tables(subjects: &[&Subject]) -> Markup {
    let columns: Vec<PaperColumn> = subjects.iter().map(|subject| PaperColumn::of(subject)).collect();
    html! {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "" }
                @for subject in subjects {
                    th scope="col" { (text::short(&subject.label, 40)) @if subject.published { br; small { "published" } } }
                }
            } }
            tbody { @for (index, (name, unit)) in PaperColumn::ROWS.iter().enumerate() {
                tr {
                    th scope="row" { (name) @if !unit.is_empty() { ", " (unit) } }
                    @for column in &columns {
                        @match column.0[index] {
                            Some(value) => td.number { (text::printed(value)) },
                            None => td.number.missing { "–" },
                        }
                    }
                }
            } }
        } }
    }
}

/// One machine's column of the paper's tables.
struct PaperColumn([Option<f64>; 16]);

impl PaperColumn {
    const ROWS: [(&str, &str); 16] = [
        ("clock", "GHz"),
        ("one CPU, locked increment", "ns"),
        ("one CPU, plain increment", "ns"),
        ("SMT pair (no transfer)", "ns"),
        ("pairs on one die, mean", "ns"),
        ("pairs one hop apart, mean", "ns"),
        ("pairs two hops apart, mean", "ns"),
        ("coherence time on one die", "ns"),
        ("coherence time on one die", "cycles"),
        ("coherence time, one hop", "ns"),
        ("coherence time, one hop", "cycles"),
        ("coherence time, two hops", "ns"),
        ("coherence time, two hops", "cycles"),
        ("one hop / one die", ""),
        ("two hops / one die", ""),
        ("locked / plain increment", ""),
    ];

    fn of(subject: &Subject) -> Self {
        let figures = figures::of(subject);
        let value = |id: &str| figures.iter().find(|figure| figure.key.id == id).map(|figure| figure.value);
        let pair = |class: &str| value(&format!("pair.free-running.{class}.ns"));
        // The paper prints means of pairs; a profile has them with its coherence times.
        let mean = |class: &str| {
            let times = &subject.coherence()?.coherence_times;
            let mine = times.iter().find(|time| {
                time.method == PairMethod::FreeRunning && classes::named(&time.class, subject) == class
            });
            mine.map(|time| time.mean_ns).filter(|mean| mean.is_finite())
        };
        let time = |class: &str, unit: &str| value(&format!("coherence.free-running.{class}.{unit}"));
        let ratio = |over: Option<f64>, under: Option<f64>| Some(over? / under.filter(|under| *under > 0.0)?);
        let (die, hop1, hop2) = (time("on-die", "ns"), time("1-hop", "ns"), time("2-hop", "ns"));
        let (locked, plain) = (value("single.locked.ns"), value("single.unlocked.ns"));
        Self([
            subject.clock_ghz(),
            locked,
            plain,
            pair("smt"),
            mean("on-die"),
            mean("1-hop"),
            mean("2-hop"),
            die,
            time("on-die", "cycles"),
            hop1,
            time("1-hop", "cycles"),
            hop2,
            time("2-hop", "cycles"),
            ratio(hop1, die),
            ratio(hop2, die),
            ratio(locked, plain),
        ])
    }
}

/// Classes that the figures show.
pub fn found_classes(coherence: &Coherence) -> Markup {
    html! {
        @if coherence.classes.is_empty() {
            p.missing { "No classes were found or looked for in these figures." }
        } @else {
            div.scroll { table.figures {
                thead { tr {
                    th scope="col" { "Class found" } th scope="col" { "ns (95 % interval)" }
                    th scope="col" { "cycles" } th scope="col" { "pairs" }
                } }
                tbody { @for class in coherence.classes.iter().take(64) {
                    tr {
                        th scope="row" { (text::short(&class.name, 60)) }
                        td.number { (text::estimate(&class.ns)) }
                        td.number { (class.cycles.map_or("–".to_owned(), text::number)) }
                        td.number { (class.pairs) }
                    }
                } }
            } }
        }
    }
}

/// Claims that the figures contradict.
pub fn contradictions(coherence: &Coherence) -> Markup {
    const MOST: usize = 50;
    html! {
        @let contradictions = coherence.contradictions.as_deref().unwrap_or_default();
        @if coherence.times().next().is_none() {
            p.missing { "No pair was measured, so that no claim was checked." }
        } @else if coherence.contradictions.is_none() {
            p.missing { "No topology was held against these figures." }
        } @else if contradictions.is_empty() && coherence.is_one_pair() {
            p { "Not checked: one pair alone cannot tell near from far." }
        } @else if contradictions.is_empty() {
            p { "None found: no figure contradicts the claimed topology." }
        } @else {
            div.scroll { table.figures {
                thead { tr { th scope="col" { "CPUs" } th scope="col" { "Claim" } th scope="col" { "Figures against it" } } }
                tbody { @for contradiction in contradictions.iter().take(MOST) {
                    tr {
                        th scope="row" { (cpu_list(&contradiction.cpus)) }
                        td { (text::short(&contradiction.claim, 300)) }
                        td { (text::short(&contradiction.figures, 300)) }
                    }
                } }
            } }
            @if contradictions.len() > MOST {
                p.note { "And " (contradictions.len() - MOST) " more, in the profile." }
            }
        }
    }
}

/// How a section was measured.
pub fn method(method: &Method) -> Markup {
    html! {
        @if !method.description.is_empty() { p { (text::short(&method.description, 2000)) } }
        div.scroll { table.facts {
            @if method.passes > 0 { tr { th scope="row" { "passes" } td { (method.passes) } } }
            @if method.duration_s > 0.0 { tr { th scope="row" { "duration" } td { (text::number(method.duration_s)) " s" } } }
            tr { th scope="row" { "interval" } td { "95 % of the median, in parentheses, where a figure has six samples or more; in brackets the range of fewer" } }
            @if method.passes > 0 {
                tr { th scope="row" { "involuntary context switches" } td { (method.involuntary_switches) } }
                tr { th scope="row" { "time stolen by the hypervisor" } td { (text::number(method.steal_s)) " s" } }
            }
            @for (name, value) in &method.parameters {
                tr { th scope="row" { (text::short(name, 80)) } td { (parameter(value)) } }
            }
        } }
    }
}

fn parameter(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text::short(text, 300),
        other => text::short(&other.to_string(), 300),
    }
}

/// What was not measured and why.
pub fn not_available(subject: &Subject) -> Markup {
    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    let sections = [
        ("topology", subject.profile.topology.is_some()),
        ("coherence", subject.profile.coherence.is_some()),
        ("counters", subject.profile.counters.is_some()),
        ("calls", subject.profile.calls.is_some()),
        ("sync", subject.profile.sync.is_some()),
        ("contention", subject.profile.contention.is_some()),
        ("memory", subject.profile.memory.is_some()),
        ("workloads", subject.profile.workloads.is_some()),
        ("idle", subject.profile.idle.is_some()),
        ("host", subject.profile.host.is_some()),
    ];
    for (name, _) in sections.into_iter().filter(|(_, present)| !present) {
        reasons.insert(format!("section {name}"), "not in this profile".to_owned());
    }
    if let Some(coherence) = subject.coherence() {
        reasons.extend(coherence.method.not_available.clone());
    }
    let counters = subject.profile.counters.as_ref().map(|counters| ("counters", &counters.method));
    let calls = subject.profile.calls.as_ref().map(|calls| ("calls", &calls.conditions));
    let sync = subject.profile.sync.as_ref().map(|sync| ("sync", &sync.method));
    let contention = subject.profile.contention.as_ref().map(|section| ("contention", &section.method));
    let memory = subject.profile.memory.as_ref().map(|memory| ("memory", &memory.method));
    let workloads = subject.profile.workloads.as_ref().map(|workloads| ("workloads", &workloads.method));
    let idle = subject.profile.idle.as_ref().map(|idle| ("idle", &idle.method));
    let methods = counters
        .into_iter()
        .chain(calls)
        .chain(sync)
        .chain(contention)
        .chain(memory)
        .chain(workloads)
        .chain(idle);
    for (section, method) in methods {
        let named = |(what, why): (&String, &String)| (format!("{section}: {what}"), text::reason(why));
        reasons.extend(method.not_available.iter().map(named));
    }
    html! {
        @if reasons.is_empty() { p { "Nothing was left out that this profile's sections cover." } }
        @else { (pairs_table(&reasons)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_escape_what_profiles_say() {
        let mut subject = Subject::load("published:kawabe-furuya/e5620").unwrap().remove(0);
        subject.profile.host.as_mut().unwrap().cpu = Some("<script>alert(1)</script>".into());
        let table = host(&subject).into_string();
        assert!(table.contains("&lt;script&gt;") && !table.contains("<script"));
    }

    #[test]
    fn the_papers_ratio_comes_out() {
        let subject = Subject::load("published:kawabe-furuya/e5620").unwrap().remove(0);
        let table = paper_tables(&[&subject]).into_string();
        assert!(table.contains("4.15"), "{table}");
    }

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!(cpu_list(&[8, 0, 1, 2, 3]), "0-3,8");
    }
}
