//! What a profile means for its reader. Each finding comes with the figures that it rests on, the condition under
//! which it holds, and what to do or to measure next. What the evidence does not support is not said.
//!
//! A comparison takes an interval of both figures. Findings advise no placement where times between CPUs jumped, or
//! where there are too few samples to tell whether they did.

mod barriers;
mod calls;
mod dates;
mod idle;
mod memory;
mod missing;
mod moves;
mod openmp;
mod pinning;
mod published;
mod sharing;
mod topology;

use coho_profile::{Coherence, Estimate, Profile};
use coho_topology::CpuSet;
use serde::Serialize;

use crate::delegation;
use crate::judge::{self, Judgement};
use crate::signs::{between, with_minus};

/// Something that a profile means for its reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of finding, the same in every profile. A profile has one of each kind, or one per command that
    /// was tried.
    pub id: &'static str,
    /// The finding itself, with figures. Names from the profile appear unchanged.
    pub text: String,
    /// What it asks of the reader.
    #[serde(rename = "level")]
    pub urgency: Urgency,
    /// The figures that it rests on, as JSON Pointers (RFC 6901) into the profile: `/sync/barriers/3/ns`.
    pub evidence: Vec<String>,
    /// The condition under which it holds, or how well it is known.
    pub condition: String,
    /// What to do, or which command shows more, with commands in backticks; empty if there is nothing.
    pub next: String,
}

/// What a finding asks of the reader, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Something is not what it seems.
    Warning,
    /// Something can be gained.
    Advice,
    /// Good to know.
    Note,
}

/// Everything that a profile means, the most urgent first.
///
/// ```
/// use coho_profile::{Profile, published};
/// assert!(coho_model::findings(&Profile::default()).is_empty(), "nothing was measured");
///
/// // A paper gives single values: the costs from the nearest to the farthest pair, but nothing to act on.
/// let paper = published::read("kawabe-furuya/x7560")?;
/// let found = coho_model::findings(&paper.machines[0].1);
/// assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), ["sharing-cost"]);
/// # Ok::<(), coho_profile::Error>(())
/// ```
pub fn findings(profile: &Profile) -> Vec<Finding> {
    findings_by(profile, &judge::coherence(profile), &judge::calls(profile))
}

/// As [`findings`], for a profile that is already judged.
pub(crate) fn findings_by(
    profile: &Profile,
    coherence: &Judgement,
    calls: &delegation::Judgement,
) -> Vec<Finding> {
    let kinds = [
        moves::findings(profile),
        topology::findings(profile, coherence),
        pinning::findings(profile, coherence),
        sharing::findings(profile, coherence),
        published::findings(profile),
        barriers::findings(profile),
        openmp::findings(profile),
        calls::findings(profile, &calls.verdicts),
        memory::findings(profile),
        idle::findings(profile),
        missing::findings(profile),
    ];
    let mut findings: Vec<Finding> = kinds.into_iter().flatten().collect();
    dates::add(&mut findings, profile);
    findings.sort_by_key(|finding| finding.urgency);
    findings
}

/// Where a section's times stand, as evidence of what all of them show together.
fn times_of(coherence: &Coherence) -> String {
    if coherence.matrix.is_some() { "/coherence/matrix".into() } else { "/coherence/pairs".into() }
}

/// The largest figure shown in plain digits. No measured figure is larger; a damaged profile's may be.
pub(crate) const SENSIBLE: f64 = 1e12;

/// A figure in three digits.
fn number(value: f64) -> String {
    with_minus(match value.abs() {
        _ if !value.is_finite() => "–".to_owned(),
        size if size >= SENSIBLE => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    })
}

/// `24.1–26.3`.
fn interval(low: f64, high: f64) -> String {
    between(&number(low), &number(high))
}

/// `25.0 ns (24.1–26.3)`; without an interval if there are too few samples for one.
fn ns(estimate: &Estimate) -> String {
    let median = number(estimate.median);
    match estimate.has_interval() {
        true => format!("{median} ns ({})", interval(estimate.low, estimate.high)),
        false => format!("{median} ns"),
    }
}

/// `1.96 (1.90–1.99)`.
fn ratio(estimate: &Estimate) -> String {
    format!("{} ({})", number(estimate.median), interval(estimate.low, estimate.high))
}

/// CPU numbers as the kernel lists them: `0-3,8`.
fn cpus(all: impl Iterator<Item = u32>) -> String {
    all.collect::<CpuSet>().to_string()
}

/// The first of many groups of CPUs: `0-7 | 8-15 | 16-23 | 24-31 | 4 more`.
fn first_groups(groups: &[impl AsRef<str>]) -> String {
    const LISTED: usize = 4;
    let more = groups.len().saturating_sub(LISTED);
    let named = groups.iter().take(LISTED).map(|group| group.as_ref().to_owned());
    named.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(" | ")
}

/// `a`, `a and b`, `a, b and c`.
fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}
