//! The page's section on idle states: what there is, what waking takes, what can be set.

use coho_profile::{Idle, IdleState, Wakeup};
use maud::{Markup, html};

use super::subject::Subject;
use super::{calls, tables, text};

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 300;

/// A profile's idle states, governors, wake-ups and controls.
pub fn section(subject: &Subject) -> Markup {
    let Some(idle) = &subject.profile.idle else {
        return html! { p.missing { "Not measured: the profile has no section idle." } };
    };
    html! {
        (states(&idle.states))
        (facts(idle))
        (wakeups(&idle.wakeups))
        (controls(idle))
        (calls::missing(&idle.method.not_available))
        details { summary { "How waking was measured" } (tables::method(&idle.method)) }
    }
}

fn states(states: &[IdleState]) -> Markup {
    html! { @if !states.is_empty() {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "State" } th scope="col" { "CPUs" } th scope="col" { "Latency, µs" }
                th scope="col" { "Residency, µs" } th scope="col" { "Entered" } th scope="col" { "Time in it, s" }
                th scope="col" { "Disabled on" }
            } }
            tbody { @for state in states.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&state.name, 40)) }
                    td { (tables::cpu_list(&state.cpus)) }
                    td.number { (state.latency_us) } td.number { (state.residency_us) } td.number { (state.usage) }
                    td.number { (text::number(state.time_us as f64 / 1e6)) }
                    td { @if state.disabled_on.is_empty() { "–" } @else { (tables::cpu_list(&state.disabled_on)) } }
                }
            } }
        } }
        p.note { "Latency and residency are the driver's claims; entered and time are what was asked for since boot, which the "
            "hardware may have refused." }
    } }
}

fn facts(idle: &Idle) -> Markup {
    let frequency = &idle.frequency;
    let governors = frequency
        .governors
        .iter()
        .map(|(name, cpus)| format!("{} on CPUs {}", text::tame(name), tables::cpu_list(cpus)))
        .collect::<Vec<_>>();
    let rows = [
        ("Idle driver", idle.driver.clone()),
        ("Idle governor", idle.governor.clone()),
        ("Clock driver", frequency.driver.clone()),
        ("Clock governor", (!governors.is_empty()).then(|| governors.join(", "))),
        ("Boost", frequency.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
        (
            "Latency limit",
            idle.dma_latency_us.map(|us| match us {
                Idle::UNLIMITED_US => "none".to_owned(),
                us => format!("{us} µs on all CPUs"),
            }),
        ),
    ];
    html! { @if rows.iter().any(|(_, value)| value.is_some()) {
        div.scroll { table.facts {
            @for (name, value) in rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
                tr { th scope="row" { (name) } td { (text::short(value, 300)) } }
            }
        } }
    } }
}

fn wakeups(wakeups: &[Wakeup]) -> Markup {
    let by = |wakeup: &Wakeup| {
        let from = wakeup.from.map(|from| format!(" from CPU {from}")).unwrap_or_default();
        let under = wakeup.under.as_ref().map(|under| format!(", {under}")).unwrap_or_default();
        text::short(&format!("{}{from}{under}", wakeup.by), 80)
    };
    let us = |wakeup: &Wakeup| {
        wakeup.ns.as_ref().map_or("–".to_owned(), |ns| {
            text::with_interval(ns.median / 1e3, Some((ns.low / 1e3, ns.high / 1e3)))
        })
    };
    html! { @if !wakeups.is_empty() {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Woken by" } th scope="col" { "CPU" } th scope="col" { "Slept, µs" }
                th scope="col" { "To wake, µs (95 %)" } th scope="col" { "n" }
            } }
            tbody { @for wakeup in wakeups.iter().take(MOST) {
                tr {
                    th scope="row" { (by(wakeup)) }
                    td.number { (wakeup.cpu) } td.number { (wakeup.slept_us) } td.number { (us(wakeup)) }
                    td.number { (wakeup.ns.as_ref().map_or("–".to_owned(), |ns| ns.n.to_string())) }
                }
            } }
        } }
        p.note { "From the moment at which a sleeping CPU was to wake until its thread ran; the longer it slept, the deeper the "
            "state that it may have reached." }
    } }
}

fn controls(idle: &Idle) -> Markup {
    html! { @if !idle.controls.is_empty() {
        div.scroll { table.facts { @for control in idle.controls.iter().take(MOST) {
            tr { th scope="row" { (text::short(&control.name, 80)) } td { (text::short(&control.status, 300)) } }
        } } }
        p.note { "What " code { "coho idle" } " can set for the length of a command, or had set, and what came of it." }
    } }
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, IdleControl, Profile};

    use super::*;

    fn page(idle: Option<Idle>) -> String {
        section(&Subject::of_file("mine.json".as_ref(), Profile { idle, ..Profile::default() })).into_string()
    }

    #[test]
    fn states_waking_and_controls_are_shown() {
        let mut idle = Idle {
            driver: Some("intel_idle".into()),
            states: vec![IdleState {
                name: "<C6>".into(),
                latency_us: 133,
                cpus: vec![0, 1],
                ..IdleState::default()
            }],
            wakeups: vec![Wakeup {
                by: "futex".into(),
                cpu: 1,
                from: Some(0),
                slept_us: 1000,
                ns: Some(Estimate::exact(4321.0)),
                under: Some("C6 disabled".into()),
            }],
            controls: vec![IdleControl {
                name: "governor".into(),
                status: "not available: no cpufreq".into(),
            }],
            ..Idle::default()
        };
        idle.method.not_available.insert("boost".into(), "no such file".into());
        let page = page(Some(idle));
        for text in [
            "&lt;C6&gt;",
            "133",
            "intel_idle",
            "futex from CPU 0, C6 disabled",
            "4.32",
            "no cpufreq",
            "no such file",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("<C6>"));
    }

    #[test]
    fn a_profile_without_says_so() {
        assert!(page(None).contains("no section idle"));
    }
}
