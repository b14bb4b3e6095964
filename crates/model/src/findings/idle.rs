//! Idle states and governors that cost latency.

use coho_profile::{Estimate, Idle, Profile};

use super::{Finding, Urgency, number};
use crate::barrier::is_slower;

/// In ns: few programs notice a wake-up that takes less.
const NOTABLE_NS: f64 = 20_000.0;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(idle) = &profile.idle else { return Vec::new() };
    [waking(idle), governor(idle)].into_iter().flatten().collect()
}

/// Waking by a timer after a sleep, with nothing set: the CPU, the sleep in us, the time and where it stands.
fn woken(idle: &Idle) -> impl Iterator<Item = (u32, u64, &Estimate, usize)> {
    let usual = idle.wakeups.iter().enumerate().filter(|(_, one)| one.by == "timer" && one.under.is_none());
    usual.filter_map(|(at, one)| {
        let ns = one.ns.as_ref().filter(|ns| ns.has_interval())?;
        Some((one.cpu, one.slept_us, ns, at))
    })
}

/// A CPU that takes longer to wake the longer it slept reaches a deeper state; of several the slowest.
fn waking(idle: &Idle) -> Option<Finding> {
    let longest = woken(idle).map(|(_, slept, ..)| slept).max()?;
    let slowest = woken(idle).filter(|(_, slept, ..)| *slept == longest);
    let (cpu, _, slow, slow_at) = slowest.max_by(|a, b| a.2.median.total_cmp(&b.2.median))?;
    let own = woken(idle).filter(|(of, slept, ..)| *of == cpu && *slept < longest);
    let (_, shortest, quick, quick_at) = own.min_by_key(|(_, slept, ..)| *slept)?;
    if !is_slower(quick, slow) || slow.median < NOTABLE_NS {
        return None;
    }
    let us = |ns: f64| number(ns / 1e3);
    let can_limit = idle.controls.iter().any(|one| one.name == "latency limit" && one.status == "available");
    let next = match can_limit {
        true => "`coho idle --dma-latency 0 -- COMMAND` keeps CPUs out of deep states while a command runs.",
        false => "",
    };
    Some(Finding {
        id: "waking",
        text: format!(
            "After {longest} us of sleep, CPU {cpu} takes {} us ({}–{}) to run a thread that a timer wakes; after {shortest} us, {}.",
            us(slow.median),
            us(slow.low),
            us(slow.high),
            us(quick.median)
        ),
        urgency: Urgency::Advice,
        evidence: vec![format!("/idle/wakeups/{slow_at}/ns"), format!("/idle/wakeups/{quick_at}/ns")],
        condition: "the slowest CPU of those measured, the machine otherwise as it was".into(),
        next: next.into(),
    })
}

/// `powersave` holds the lowest clock, unless the driver itself chooses the clock under that name.
fn governor(idle: &Idle) -> Option<Finding> {
    let frequency = &idle.frequency;
    let cpus = frequency.governors.get("powersave").filter(|cpus| !cpus.is_empty())?;
    let driver = frequency.driver.as_deref().filter(|driver| !driver.contains("pstate"))?;
    let who = match cpus.len() {
        1 => format!("CPU {} runs", cpus[0]),
        n => format!("{n} CPUs run"),
    };
    let next = match frequency.available_governors.iter().any(|name| name == "performance") {
        true => "`coho idle --governor performance -- COMMAND` sets another while a command runs.",
        false => "",
    };
    Some(Finding {
        id: "governor",
        text: format!("{who} under the governor powersave, which holds the lowest clock that is allowed."),
        urgency: Urgency::Warning,
        evidence: vec!["/idle/frequency/governors".into(), "/idle/frequency/driver".into()],
        condition: format!("as the driver {driver} told when it was measured"),
        next: next.into(),
    })
}
