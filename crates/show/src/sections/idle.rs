//! Idle states, who sets them and the clock, and how long CPUs take to wake.

use std::collections::BTreeMap;

use coho_profile::{Idle, IdleControl, IdleState, Wakeup};

use crate::sections::prelude::*;

/// Ways to wake, in the order of rows.
const BY: [&str; 3] = ["timer", "futex", "pipe"];

pub(super) const ENTRY: Entry = Entry { id: "idle", title: "Idle states and waking", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let idle = subject.profile.idle.as_ref()?;
    let grouped = grouped(subject, idle);
    let mut section = ENTRY.section(headline(&grouped));
    section.summary(waking(&grouped));
    section.summary(states(&idle.states));
    section.summary(facts(idle));
    let have_several = grouped.values().any(|figure| figure.n > 1);
    section.detail(have_several.then(|| by_cpu(subject, idle)));
    // What cannot be set says why itself.
    let mut method = idle.method.clone();
    let is_said = |why: &str| idle.controls.iter().any(|control| control.status.ends_with(why));
    method.not_available.retain(|_, why| !is_said(why));
    method::add(&mut section.parts, "idle-method", &method);
    Some(section)
}

/// Place of the way to wake, time slept in us, name of the way, what was set meanwhile.
type Kind<'a> = (usize, u64, &'a str, &'a str);

/// Times to wake of CPUs that slept as long and were woken alike.
fn grouped<'a>(subject: &Subject, idle: &'a Idle) -> BTreeMap<Kind<'a>, Figure> {
    let times = idle.wakeups.iter().filter_map(|Wakeup { by, slept_us, under, ns, .. }| {
        let place = BY.iter().position(|known| known == by).unwrap_or(BY.len());
        Some(((place, *slept_us, by.as_str(), under.as_deref().unwrap_or_default()), ns.as_ref()?))
    });
    subject.summed_up(times, scale::median)
}

/// How long CPUs take to wake after the longest sleep, with nothing set.
fn headline(grouped: &BTreeMap<Kind<'_>, Figure>) -> String {
    let unset = grouped.iter().filter(|((.., under), _)| under.is_empty());
    let Some(longest) = unset.clone().map(|((_, slept, ..), _)| *slept).max() else { return String::new() };
    let times = unset.filter(|((_, slept, ..), _)| *slept == longest);
    let times = times.map(|((.., by, _), ns)| format!("{} us by {by}", words::number(ns.value / 1e3)));
    format!("waking after {longest} us takes {}", words::joined(times, ", "))
}

fn waking<'a>(grouped: &'a BTreeMap<Kind<'a>, Figure>) -> TableOf<(&'a Kind<'a>, &'a Figure)> {
    Table::of("waking", "Time to wake, by what wakes the thread, median CPU (Kimoto)", grouped)
        .text("woken by", |((.., by, _), _)| *by)
        .figures("slept", "us", |((_, slept, ..), _)| *slept)
        .text("while", |((.., under), _)| (!under.is_empty()).then_some(*under))
        .compared("to wake", "ns", "ns", |(_, ns)| ns.clone())
        .figures("CPUs", "", |(_, ns)| ns.n)
        .keyed(|((_, slept, by, under), _)| {
            let id = format!("idle.wakeup.{by}.{slept}.{}", under.to_ascii_lowercase().replace(' ', "-"));
            let label = words::joined([&*format!("woken by {by} after {slept} us"), *under], ", ");
            (id.trim_end_matches('.').to_owned(), label)
        })
        .note(
            "From the moment when a sleeping CPU should wake until its thread runs. The longer it sleeps, the deeper \
             the state that it may reach.",
        )
}

fn by_cpu<'a>(subject: &Subject, idle: &'a Idle) -> TableOf<&'a Wakeup> {
    Table::of("waking-by-cpu", "Time to wake of each CPU", &idle.wakeups)
        .text("woken by", |wakeup| wakeup.by.as_str())
        .figures("CPU", "", |wakeup| wakeup.cpu)
        .figures("from CPU", "", |wakeup| wakeup.from)
        .figures("slept", "us", |wakeup| wakeup.slept_us)
        .text("while", |wakeup| wakeup.under.as_deref())
        .figures("to wake", "ns", |wakeup| subject.figure_of(&wakeup.ns))
}

fn states(states: &[IdleState]) -> TableOf<&IdleState> {
    Table::of("idle-states", "Idle states", states)
        .text("state", |state| words::short(&state.name, 40))
        .text("CPUs", |state| words::cpus(&state.cpus))
        .figures("latency", "us", |state| state.latency_us)
        .figures("residency", "us", |state| state.residency_us)
        .figures("entered", "", |state| state.usage)
        .column(Column::figures("in it", "s").detail(), |state| Format::Tenths.of(state.time_us as f64 / 1e6))
        .text("disabled on", |state| (!state.disabled_on.is_empty()).then(|| words::cpus(&state.disabled_on)))
        .note(
            "Latency and residency are the driver's claims; entered and time are what the kernel asked for since \
             boot, which the hardware may have refused.",
        )
}

/// What chooses idle states and clocks, what limits them, and what `coho idle` can set.
fn facts(idle: &Idle) -> Facts {
    let frequency = &idle.frequency;
    let governor = |(name, cpus): (_, &Vec<u32>)| format!("{name} on CPUs {}", words::cpus(cpus));
    let governors = words::joined(frequency.governors.iter().map(governor), ", ");
    let limit = idle.dma_latency_us.map(|us| match us {
        Idle::UNLIMITED_US => "none".to_owned(),
        us => format!("{us} us on all CPUs"),
    });
    let of_cpu = |(cpu, us)| (format!("latency limit of CPU {cpu}"), format!("{us} us"));
    let to_set = |one: &IdleControl| (format!("to set: {}", words::short(&one.name, 80)), one.status.clone());
    Facts::new("idle", "What chooses idle states and clocks, and what can be set")
        .facts([
            ("idle driver", idle.driver.clone()),
            ("idle governor", idle.governor.clone()),
            ("clock driver", frequency.driver.clone()),
            ("clock governor", Some(governors).filter(|names| !names.is_empty())),
            ("boost", frequency.boost.map(|on| words::on_off(on).to_owned())),
            ("latency limit", limit),
        ])
        .facts(idle.resume_latency_us.iter().map(of_cpu))
        .facts(idle.controls.iter().map(to_set))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Profile};

    use super::*;
    use crate::part::Cell;
    use crate::testing;

    fn of(idle: Idle) -> Section {
        section(&Subject::new("mine", Profile { idle: Some(idle), ..Profile::default() })).unwrap()
    }

    fn wakeup(cpu: u32, by: &str, slept_us: u64, ns: f64, under: Option<&str>) -> Wakeup {
        Wakeup {
            by: by.into(),
            cpu,
            slept_us,
            ns: Some(Estimate { low: ns - 50.0, high: ns + 50.0, n: 40, ..Estimate::exact(ns) }),
            under: under.map(str::to_owned),
            ..Wakeup::default()
        }
    }

    #[test]
    fn cpus_that_slept_alike_are_one_figure() {
        let section = of(Idle {
            wakeups: vec![
                wakeup(0, "timer", 1000, 3000.0, None),
                wakeup(1, "timer", 1000, 5000.0, None),
                wakeup(0, "timer", 50, 2000.0, None),
                wakeup(0, "futex", 1000, 9000.0, Some("C6 disabled")),
                Wakeup { by: "pipe".into(), ..Wakeup::default() },
            ],
            ..Idle::default()
        });
        let table = testing::tables(&section)[0];
        let keys =
            ["timer.50", "timer.1000", "futex.1000.c6-disabled"].map(|key| format!("idle.wakeup.{key}"));
        assert_eq!(testing::keys(table), keys);
        let Cell::Figure(figure) = &table.rows[1].cells[3] else { panic!("a figure") };
        assert_eq!((figure.value, figure.n, figure.interval()), (4000.0, 2, Some((3950.0, 4050.0))));
        assert_eq!(section.headline, "waking after 1000 us takes 4.00 us by timer");
    }

    #[test]
    fn why_nothing_can_be_set_is_said_once() {
        let status = "not available: no cpufreq".to_owned();
        let mut idle =
            Idle { controls: vec![IdleControl { name: "governor".into(), status }], ..Idle::default() };
        idle.method.not_available.insert("frequency".into(), "no cpufreq".into());
        idle.method.not_available.insert("boost".into(), "no such file".into());
        let section = of(idle);
        let missing: Vec<_> = testing::missing(&section).iter().map(|one| one.what.as_str()).collect();
        assert_eq!(missing, ["boost"]);
        assert_eq!(section.headline, "");
    }
}
