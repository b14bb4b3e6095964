//! Idle states and wake-ups, for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use coho_profile::{Idle, IdleState, Wakeup};
use coho_topology::CpuSet;

use super::table::{table, wrapped};
use crate::report::text;

/// Writes the states, who chooses among them, what waking takes and what can be set.
pub fn write(out: &mut impl Write, idle: &Idle) -> io::Result<()> {
    let rows: Vec<_> = idle.states.iter().map(state).collect();
    if !rows.is_empty() {
        let header = ["state", "CPUs", "latency us", "residency us", "entered", "in it, s", "disabled on"];
        writeln!(out, "{}", table(header, 2, rows))?;
    }
    let frequency = &idle.frequency;
    let governors: Vec<_> = frequency
        .governors
        .iter()
        .map(|(name, cpus)| format!("{} on CPUs {}", text::tame(name), list(cpus)))
        .collect();
    let facts = [
        ("idle driver", idle.driver.as_deref().map(text::tame)),
        ("idle governor", idle.governor.as_deref().map(text::tame)),
        ("clock driver", frequency.driver.as_deref().map(text::tame)),
        ("clock governor", (!governors.is_empty()).then(|| governors.join(", "))),
        ("boost", frequency.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
        (
            "latency limit",
            idle.dma_latency_us.map(|us| match us {
                Idle::UNLIMITED_US => "none".to_owned(),
                us => format!("{us} us on all CPUs"),
            }),
        ),
    ];
    for (name, fact) in facts.iter().filter_map(|(name, fact)| Some((name, fact.as_ref()?))) {
        writeln!(out, "{}", wrapped(&format!("{name:<15}"), fact))?;
    }
    for (cpu, us) in &idle.resume_latency_us {
        writeln!(out, "{:<15}{us} us on CPU {cpu}", "latency limit")?;
    }
    if !idle.wakeups.is_empty() {
        let rows = idle.wakeups.iter().map(wakeup).collect();
        writeln!(out, "\n{}", table(["woken by", "CPU", "slept us", "us to wake (95 %)"], 1, rows))?;
    }
    for control in &idle.controls {
        let label = format!("{:<15}", text::tame(&control.name));
        writeln!(out, "{}", wrapped(&label, &text::tame(&control.status)))?;
    }
    let told = |why: &str| idle.controls.iter().any(|control| control.status.ends_with(why));
    let mut missing = BTreeMap::<&str, Vec<String>>::new();
    for (what, why) in idle.method.not_available.iter().filter(|(_, why)| !told(why)) {
        missing.entry(why).or_default().push(text::tame(what));
    }
    for (why, what) in missing {
        writeln!(
            out,
            "{}",
            wrapped("", &format!("not available: {}: {}", what.join(", "), text::reason(why)))
        )?;
    }
    if idle.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

fn state(state: &IdleState) -> [String; 7] {
    [
        text::tame(&state.name),
        list(&state.cpus),
        state.latency_us.to_string(),
        state.residency_us.to_string(),
        state.usage.to_string(),
        text::number(state.time_us as f64 / 1e6),
        if state.disabled_on.is_empty() { "–".into() } else { list(&state.disabled_on) },
    ]
}

fn wakeup(wakeup: &Wakeup) -> [String; 4] {
    let by = match wakeup.from {
        None => wakeup.by.clone(),
        Some(from) => format!("{} from CPU {from}", wakeup.by),
    };
    let time = wakeup.ns.as_ref().map_or_else(
        || "–".into(),
        |ns| text::with_interval(ns.median / 1e3, Some((ns.low / 1e3, ns.high / 1e3))),
    );
    let under = wakeup.under.as_ref().map(|under| format!(", {under}")).unwrap_or_default();
    [text::tame(&(by + &under)), wakeup.cpu.to_string(), wakeup.slept_us.to_string(), time]
}

fn list(cpus: &[u32]) -> String {
    text::short(&cpus.iter().copied().collect::<CpuSet>().to_string(), 16)
}
