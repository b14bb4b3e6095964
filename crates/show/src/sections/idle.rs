//! Idle states, who sets them and the clock, and how long CPUs take to wake.

use std::collections::BTreeMap;

use coho_profile::{Estimate, Idle, IdleState, Wakeup};

use super::{Entry, method};
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Facts, Row, Section, Table};
use crate::{Subject, scale, words};

/// Ways to wake, in the order of rows.
const BY: [&str; 3] = ["timer", "futex", "pipe"];

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "idle", title: "Idle states and waking", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let idle = subject.profile.idle.as_ref()?;
    let grouped = grouped(idle);
    let mut section = ENTRY.section(headline(&grouped));
    if !grouped.is_empty() {
        section.summary(waking(&grouped));
    }
    if !idle.states.is_empty() {
        section.summary(states(&idle.states));
    }
    let facts = facts(idle);
    if !facts.facts.is_empty() {
        section.summary(facts);
    }
    if grouped.values().any(|wakeups| wakeups.len() > 1) {
        section.detail(by_cpu(subject, idle));
    }
    // What cannot be set says why itself.
    let mut method = idle.method.clone();
    method
        .not_available
        .retain(|_, why| !idle.controls.iter().any(|control| control.status.ends_with(&**why)));
    method::add(&mut section.parts, "idle-method", &method);
    Some(section)
}

/// Place of the way to wake, its name, time slept in us, what was set meanwhile.
type Kind<'a> = (usize, u64, &'a str, &'a str);

/// Wake-ups of CPUs that slept as long and were woken alike.
fn grouped(idle: &Idle) -> BTreeMap<Kind<'_>, Vec<&Estimate>> {
    let mut grouped: BTreeMap<Kind<'_>, Vec<&Estimate>> = BTreeMap::new();
    for wakeup in &idle.wakeups {
        let Wakeup { by, slept_us, under, ns: Some(ns), .. } = wakeup else { continue };
        let place = BY.iter().position(|known| known == by).unwrap_or(BY.len());
        let under = under.as_deref().unwrap_or_default();
        grouped.entry((place, *slept_us, by, under)).or_default().push(ns);
    }
    grouped
}

/// The median of medians, between the medians of the intervals' ends.
fn middle(estimates: &[&Estimate]) -> Option<Figure> {
    let median_of = |end: fn(&Estimate) -> f64| scale::median(estimates.iter().map(|estimate| end(estimate)));
    let value = median_of(|estimate| estimate.median)?;
    let all_tell = estimates.iter().all(|estimate| estimate.has_interval());
    let interval =
        median_of(|estimate| estimate.low).zip(median_of(|estimate| estimate.high)).filter(|_| all_tell);
    Some(Figure::within(value, interval, estimates.len() as u64))
}

/// How long CPUs take to wake after the longest sleep, with nothing set.
fn headline(grouped: &BTreeMap<Kind<'_>, Vec<&Estimate>>) -> String {
    let unset = || grouped.iter().filter(|((.., under), _)| under.is_empty());
    let Some(longest) = unset().map(|((_, slept, ..), _)| *slept).max() else { return String::new() };
    let waking_times =
        unset().filter(|((_, slept, ..), _)| *slept == longest).filter_map(|((.., by, _), estimates)| {
            Some(format!("{} us by {by}", words::number(middle(estimates)?.value / 1e3)))
        });
    let waking_times: Vec<String> = waking_times.collect();
    if waking_times.is_empty() {
        String::new()
    } else {
        format!("waking after {longest} us takes {}", waking_times.join(", "))
    }
}

fn waking(grouped: &BTreeMap<Kind<'_>, Vec<&Estimate>>) -> Table {
    let row = |((_, slept, by, under), estimates): (&Kind<'_>, &Vec<&Estimate>)| {
        let (id, label) = match *under {
            "" => (String::new(), String::new()),
            under => (format!(".{}", under.to_ascii_lowercase().replace(' ', "-")), format!(", {under}")),
        };
        Row::new([
            (*by).into(),
            Figure::count(*slept).into(),
            if under.is_empty() { Cell::Nothing } else { (*under).into() },
            Cell::maybe(middle(estimates)),
            Figure::count(estimates.len()).into(),
        ])
        .keyed(format!("idle.wakeup.{by}.{slept}{id}"), format!("woken by {by} after {slept} us{label}"))
    };
    Table::new("waking", "Time to wake, by what wakes the thread, median CPU (Kimoto)")
        .columns([
            Column::text("woken by"),
            Column::figures("slept", "us"),
            Column::text("while"),
            Column::figures("to wake", "ns").compared("ns"),
            Column::figures("CPUs", ""),
        ])
        .rows(grouped.iter().map(row))
        .note(
            "From the moment when a sleeping CPU should wake until its thread runs. The longer it sleeps, the deeper \
             the state that it may reach.",
        )
}

fn by_cpu(subject: &Subject, idle: &Idle) -> Table {
    let row = |wakeup: &Wakeup| {
        Row::new([
            wakeup.by.as_str().into(),
            Figure::count(wakeup.cpu).into(),
            Cell::maybe(wakeup.from.map(Figure::count)),
            Figure::count(wakeup.slept_us).into(),
            wakeup.under.as_deref().map_or(Cell::Nothing, Cell::from),
            Cell::maybe(wakeup.ns.as_ref().map(|ns| subject.figure(ns))),
        ])
    };
    Table::new("waking-by-cpu", "Time to wake of each CPU")
        .columns([
            Column::text("woken by"),
            Column::figures("CPU", ""),
            Column::figures("from CPU", ""),
            Column::figures("slept", "us"),
            Column::text("while"),
            Column::figures("to wake", "ns"),
        ])
        .rows(idle.wakeups.iter().map(row))
}

fn states(states: &[IdleState]) -> Table {
    let row = |state: &IdleState| {
        Row::new([
            words::short(&state.name, 40).into(),
            words::cpus(&state.cpus).into(),
            Figure::count(state.latency_us).into(),
            Figure::count(state.residency_us).into(),
            Figure::count(state.usage).into(),
            Figure::exact(state.time_us as f64 / 1e6).format(Format::Tenths).into(),
            if state.disabled_on.is_empty() { Cell::Nothing } else { words::cpus(&state.disabled_on).into() },
        ])
    };
    Table::new("idle-states", "Idle states")
        .columns([
            Column::text("state"),
            Column::text("CPUs"),
            Column::figures("latency", "us"),
            Column::figures("residency", "us"),
            Column::figures("entered", ""),
            Column::figures("in it", "s").detail(),
            Column::text("disabled on"),
        ])
        .rows(states.iter().map(row))
        .note(
            "Latency and residency are the driver's claims; entered and time are what the kernel asked for since \
             boot, which the hardware may have refused.",
        )
}

/// Who chooses, what limits it, and what `coho idle` can set.
fn facts(idle: &Idle) -> Facts {
    let frequency = &idle.frequency;
    let governors =
        frequency.governors.iter().map(|(name, cpus)| format!("{name} on CPUs {}", words::cpus(cpus)));
    let governors: Vec<String> = governors.collect();
    let limit = idle.dma_latency_us.map(|us| match us {
        Idle::UNLIMITED_US => "none".to_owned(),
        us => format!("{us} us on all CPUs"),
    });
    let optional = [
        ("idle driver", idle.driver.clone()),
        ("idle governor", idle.governor.clone()),
        ("clock driver", frequency.driver.clone()),
        ("clock governor", (!governors.is_empty()).then(|| governors.join(", "))),
        ("boost", frequency.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("latency limit", limit),
    ];
    let mut facts: Vec<(String, String)> =
        optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let limits = idle.resume_latency_us.iter();
    facts.extend(limits.map(|(cpu, us)| (format!("latency limit of CPU {cpu}"), format!("{us} us"))));
    let controls = idle.controls.iter();
    facts
        .extend(controls.map(|one| (format!("to set: {}", words::short(&one.name, 80)), one.status.clone())));
    Facts { id: "idle", title: "Who chooses, and what can be set".to_owned(), facts, compared: false }
}

#[cfg(test)]
mod tests {
    use coho_profile::{IdleControl, Profile};

    use super::*;
    use crate::part::Body;

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
        let Body::Table(table) = &section.parts[0].body else { panic!("a table") };
        let ids: Vec<_> = table.rows.iter().map(|row| row.key.as_ref().unwrap().id.as_str()).collect();
        let expected =
            ["idle.wakeup.timer.50", "idle.wakeup.timer.1000", "idle.wakeup.futex.1000.c6-disabled"];
        assert_eq!(ids, expected);
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
        let missing = section.parts.iter().filter_map(|part| match &part.body {
            Body::Missing(missing) => Some(missing.what.as_str()),
            _ => None,
        });
        assert_eq!(missing.collect::<Vec<_>>(), ["boost"]);
        assert_eq!(section.headline, "");
    }
}
