//! Figures, times and lists as the conclusions word them.

use coho_profile::{Estimate, History};
use coho_topology::CpuSet;

use crate::signs::{between, with_minus};

/// The largest figure shown in plain digits. No measured figure is larger; a damaged profile's may be.
pub(crate) const SENSIBLE: f64 = 1e12;

/// A figure in three digits.
pub(crate) fn number(value: f64) -> String {
    with_minus(match value.abs() {
        _ if !value.is_finite() => "–".to_owned(),
        size if size >= SENSIBLE => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    })
}

/// `24.1–26.3`.
pub(crate) fn interval(low: f64, high: f64) -> String {
    between(&number(low), &number(high))
}

/// `25.0 ns (24.1–26.3)`; without an interval if there are too few samples for one.
pub(crate) fn ns(estimate: &Estimate) -> String {
    let median = number(estimate.median);
    match estimate.has_interval() {
        true => format!("{median} ns ({})", interval(estimate.low, estimate.high)),
        false => format!("{median} ns"),
    }
}

/// `1.96 (1.90–1.99)`.
pub(crate) fn ratio(estimate: &Estimate) -> String {
    format!("{} ({})", number(estimate.median), interval(estimate.low, estimate.high))
}

/// CPU numbers as the kernel lists them: `0-3,8`.
pub(crate) fn cpus(all: impl Iterator<Item = u32>) -> String {
    all.collect::<CpuSet>().to_string()
}

/// The first of many groups of CPUs: `0-7 | 8-15 | 16-23 | 24-31 | 4 more`.
pub(crate) fn first_groups(groups: &[impl AsRef<str>]) -> String {
    const LISTED: usize = 4;
    let more = groups.len().saturating_sub(LISTED);
    let named = groups.iter().take(LISTED).map(|group| group.as_ref().to_owned());
    named.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(" | ")
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// `1 pass`, `3 passes`.
pub(crate) fn passes(n: u64) -> String {
    if n == 1 { "1 pass".to_owned() } else { format!("{n} passes") }
}

/// A time in ns, to a tenth below 100.
pub(crate) fn tenths(ns: f64) -> String {
    match ns {
        ns if ns.abs() >= SENSIBLE => format!("{ns:.2e}"),
        ns if ns < 99.95 => format!("{ns:.1}"),
        ns => format!("{ns:.0}"),
    }
}

/// How many other surveys differ: `2 of 4 other surveys since boot differ`, `the one other survey since boot differs`.
pub(crate) fn differing(history: &History, when: &str) -> String {
    match (history.disagree, history.surveys) {
        (1, 1) => format!("the one other survey{when} differs"),
        (disagree, surveys) => format!("{disagree} of {surveys} other surveys{when} differ"),
    }
}

/// A time in the unit that people would use: `26 hours`.
pub(crate) fn window(seconds: f64) -> String {
    match seconds {
        s if s > 0.0 && s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 120.0 * 60.0 => format!("{:.0} minutes", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} hours", s / 3600.0),
        s if s < SENSIBLE => format!("{:.0} days", s / 86400.0),
        s => format!("{s:.2e} s"),
    }
}
