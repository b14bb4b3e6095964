//! Idle states and governors that cost latency.

use std::collections::BTreeMap;

use coho_profile::{Estimate, Idle, Profile};

use super::finding::{Finding, Urgency, brief};
use crate::chance::Family;
use crate::words::{cpus, number};

/// In ns: few programs notice a shorter wake-up.
const NOTABLE_NS: f64 = 20_000.0;
/// The ratio from which CPUs are called slower than others: one run's intervals do not include the next run's noise.
const APART: f64 = 1.3;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(idle) = &profile.idle else { return Vec::new() };
    [waking(idle), governor(idle)].into_iter().flatten().collect()
}

/// Waking by a timer, and where the figure stands.
#[derive(Clone, Copy)]
struct Woken<'a> {
    at: usize,
    ns: &'a Estimate,
    /// The ends of its range where all CPUs are compared.
    low: f64,
    high: f64,
}

/// A CPU after its shortest and its longest sleep.
struct Sleeper<'a> {
    cpu: u32,
    short: Woken<'a>,
    long: Woken<'a>,
}

impl Sleeper<'_> {
    /// Whether it reaches a deeper state: it takes longer to wake after a longer sleep.
    fn is_deep(&self) -> bool {
        self.long.low > self.short.high && self.long.ns.median >= NOTABLE_NS
    }
}

/// Waking by a timer after a sleep of `slept_us`, with nothing set, by CPU.
fn woken(idle: &Idle, slept_us: u64) -> BTreeMap<u32, Woken<'_>> {
    let usual = idle.wakeups.iter().enumerate();
    let usual = usual.filter(|(_, one)| one.by == "timer" && one.under.is_none() && one.slept_us == slept_us);
    let timed: Vec<_> = usual.filter_map(|(at, one)| Some((one.cpu, at, one.ns.as_ref()?))).collect();
    let family = Family::among(timed.len());
    let judged = timed.into_iter().filter_map(|(cpu, at, ns)| {
        let (low, high) = family.ends(ns)?;
        Some((cpu, Woken { at, ns, low, high }))
    });
    judged.collect()
}

/// Every CPU that was timed after both sleeps, the slowest first.
fn sleepers(idle: &Idle, short_us: u64, long_us: u64) -> Vec<Sleeper<'_>> {
    let short = woken(idle, short_us);
    let both = woken(idle, long_us)
        .into_iter()
        .filter_map(|(cpu, long)| Some(Sleeper { cpu, short: *short.get(&cpu)?, long }));
    let mut all: Vec<_> = both.collect();
    all.sort_by(|a, b| b.long.ns.median.total_cmp(&a.long.ns.median));
    all
}

/// How many of the slowest CPUs lie beyond the intervals of all others and so may be named. Chance makes one of many
/// CPUs the slowest, but seldom puts it beyond every other.
fn apart(all: &[Sleeper<'_>]) -> Option<usize> {
    (1..all.len()).find(|&n| {
        let (slow, others) = all.split_at(n);
        let least = slow.iter().map(|one| one.long.low).fold(f64::INFINITY, f64::min);
        let most = others.iter().map(|one| one.long.high).fold(0.0, f64::max);
        least > most && slow[n - 1].long.ns.median > APART * others[0].long.ns.median
    })
}

/// The range of several CPUs' times, in us, with the ends of their intervals: `50.0 to 62.0 us (49.5–62.6)`; for a
/// single CPU its time.
fn range<'a>(times: impl Iterator<Item = Woken<'a>> + Clone) -> String {
    let us = |ns: f64| number(ns / 1e3);
    let least =
        |of: fn(&Woken<'a>) -> f64| us(times.clone().map(|one| of(&one)).fold(f64::INFINITY, f64::min));
    let most = |of: fn(&Woken<'a>) -> f64| us(times.clone().map(|one| of(&one)).fold(0.0, f64::max));
    let (from, to) = (least(|one| one.ns.median), most(|one| one.ns.median));
    let values = if from == to { from } else { format!("{from} to {to}") };
    format!("{values} us ({}–{})", least(|one| one.ns.low), most(|one| one.ns.high))
}

fn waking(idle: &Idle) -> Option<Finding> {
    let slept = || idle.wakeups.iter().filter(|one| one.by == "timer").map(|one| one.slept_us);
    let (short_us, long_us) = (slept().min()?, slept().max()?);
    let all = sleepers(idle, short_us, long_us);
    let (named, others) = all.split_at(apart(&all).unwrap_or(all.len()));
    // Where the CPUs cannot be distinguished, all must show it; otherwise chance chose those that do.
    if named.is_empty() || !named.iter().all(Sleeper::is_deep) {
        return None;
    }
    let who = match (named, others.len()) {
        ([one], _) => format!("CPU {} takes", one.cpu),
        (several, 0) => format!("each of the {} CPUs measured takes", several.len()),
        (several, _) => format!("CPUs {} take", cpus(several.iter().map(|one| one.cpu))),
    };
    let beside = match others {
        [] => String::new(),
        others => format!("; the other CPUs take {}", range(others.iter().map(|one| one.long))),
    };
    let can_limit = idle.controls.iter().any(|one| one.name == "latency limit" && one.status == "available");
    let next = match can_limit {
        true => "`coho idle --dma-latency 0 -- COMMAND` keeps CPUs out of deep states while a command runs.",
        false => "",
    };
    let mut evidence: Vec<usize> = named.iter().flat_map(|one| [one.long.at, one.short.at]).collect();
    evidence.truncate(MOST_NAMED);
    let text = format!(
        "After {long_us} us of sleep, {who} {} to run a thread that a timer wakes; after {short_us} us, {}{beside}.",
        range(named.iter().map(|one| one.long)),
        range(named.iter().map(|one| one.short))
    );
    Some(Finding {
        id: "waking",
        brief: brief(&text, "in one run"),
        text,
        act: next.into(),
        urgency: Urgency::Advice,
        evidence: evidence.into_iter().map(|at| format!("/idle/wakeups/{at}/ns")).collect(),
        condition: match (all.len(), others.len()) {
            (1, _) => "one CPU was measured, in one run under the machine's own settings".into(),
            (n, 0) => format!(
                "the {n} CPUs do not differ beyond their intervals; one run under the machine's own settings"
            ),
            _ => {
                "slower than all other CPUs beyond their intervals; one run under the machine's own settings"
                    .into()
            }
        },
        next: next.into(),
    })
}

/// The most figures that are named one by one.
const MOST_NAMED: usize = 16;
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
        true => {
            "`coho idle --governor performance -- COMMAND` sets the governor performance while a command \
             runs."
        }
        false => "",
    };
    let text =
        format!("{who} under the governor powersave, which keeps the clock at the lowest frequency allowed.");
    Some(Finding {
        id: "governor",
        brief: text.clone(),
        text,
        act: next.into(),
        urgency: Urgency::Warning,
        evidence: vec!["/idle/frequency/governors".into(), "/idle/frequency/driver".into()],
        condition: format!("as the kernel reported it, with the driver {driver}, when it was measured"),
        next: next.into(),
    })
}
