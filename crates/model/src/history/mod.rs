//! Compares a survey with earlier ones of the same host: were its CPUs as far apart then as they are now?
//!
//! Two figures differ if they are [`SAME_MODE`] times apart, and beyond the noise of all comparisons. The line's place in a cache, the clock and another run's
//! noise change a step between CPUs by up to a third; a host that moves the CPUs changes it by a factor of two or
//! more.

mod apart;
mod log;
mod recall;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{Coherence, Estimate, Home, Mode, Pair, PairMethod};
use coho_topology::CpuSet;
use serde::{Deserialize, Serialize};

pub use apart::{Apart, apart, limits_apart};
pub use coho_profile::SAME_MODE;
pub use log::{Log, MOST, MOST_OF_HOST, NoLog};
pub use recall::{Recalled, recall};

use crate::Matrix;
use crate::chance::{Family, Order};
use crate::stats::estimate;

/// Nine of ten pairs represent all.
const MOST_PAIRS: (usize, usize) = (9, 10);

/// The host of a survey. Its figures are compared only with those of the same host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// `/etc/machine-id`; empty where there is none.
    pub machine: String,
    /// The kernel's boot ID.
    pub boot: String,
    /// The CPU's brand string.
    pub cpu: String,
}

/// The headline figures of one survey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Where it was made.
    pub host: Host,
    /// When, in seconds since 1970.
    pub at_s: u64,
    /// The CPUs measured, as `0-3,8`.
    pub cpus: String,
    /// How the pairs were measured.
    pub method: PairMethod,
    /// Where the lines lived.
    pub home: Home,
    /// Which pairs of these CPUs: `all`, or a checksum of their numbers.
    pub pairs: String,
    /// A step between CPUs, in ns, by the level that they are claimed to share: the median over the pairs of each
    /// pair's most frequent value, and the values that a tenth of any pair's batches had.
    pub steps_ns: BTreeMap<String, Estimate>,
}

impl Survey {
    /// The headlines of what was measured; `None` where no pair took turns, or none was measured repeatedly.
    pub fn of(coherence: &Coherence, host: Host, at_s: u64) -> Option<Self> {
        let (method, home) = Matrix::best_method(&coherence.pairs)?;
        if !matches!(method, PairMethod::Turn | PairMethod::Flags) {
            return None;
        }
        let mut by_level: BTreeMap<String, Vec<&Pair>> = BTreeMap::new();
        // Samples differ in all but the pairs of their first CPU, which they have each.
        let common = coherence.sampled().and_then(|_| coherence.cpus.iter().min().copied());
        let is_common = |pair: &&Pair| common.is_none_or(|cpu| [pair.a, pair.b].contains(&cpu));
        let headlines =
            coherence.pairs.iter().filter(|pair| is_headline(pair, method, home)).filter(is_common);
        let pairs = which(&coherence.cpus, headlines.clone().map(|pair| (pair.a, pair.b)));
        for pair in headlines {
            by_level.entry(pair.claimed.clone().unwrap_or_default()).or_default().push(pair);
        }
        let watched = coherence.timeline.iter().filter(|watched| watched.method == method);
        let seen = |pairs: &[&Pair]| -> Vec<Mode> {
            let of_these = |a, b| pairs.iter().any(|pair| (pair.a, pair.b) == (a, b));
            let watched = watched
                .clone()
                .filter(|watched| of_these(watched.a.min(watched.b), watched.a.max(watched.b)));
            let modes = pairs.iter().flat_map(|pair| &pair.ns.modes);
            modes.chain(watched.flat_map(|watched| &watched.modes)).copied().collect()
        };
        let steps = by_level.into_iter().filter_map(|(level, pairs)| {
            let step = estimate(pairs.iter().map(|pair| usual(&pair.ns)).collect())?;
            let step = if let [pair] = pairs[..] {
                Estimate { median: step.median, ..pair.ns.clone() }
            } else {
                step
            };
            Some((level, Estimate { modes: values::gather(seen(&pairs)), ..step }))
        });
        let steps_ns: BTreeMap<_, _> = steps.collect();
        let cpus = coherence.cpus.iter().copied().collect::<CpuSet>().to_string();
        (!steps_ns.is_empty()).then_some(Self { host, at_s, cpus, method, home, pairs, steps_ns })
    }

    /// Whether two surveys measured the same quantity on the same host.
    fn is_comparable(&self, other: &Self) -> bool {
        let key = |survey: &Self| (survey.method, survey.home);
        (&self.host, &self.cpus, &self.pairs) == (&other.host, &other.cpus, &other.pairs)
            && key(self) == key(other)
            && self.home != Home::Unknown
    }
}

/// Which pairs of these CPUs there are, so that only medians over the same pairs are compared.
fn which(cpus: &[u32], pairs: impl Iterator<Item = (u32, u32)>) -> String {
    let pairs: BTreeSet<(u32, u32)> = pairs.map(|(a, b)| (a.min(b), a.max(b))).collect();
    let all = cpus.len() * cpus.len().saturating_sub(1) / 2;
    if pairs.len() * MOST_PAIRS.1 >= all * MOST_PAIRS.0 {
        return "all".into();
    }
    // FNV-1a: the same in every version.
    let numbers = pairs.iter().flat_map(|(a, b)| [*a, *b]).flat_map(u32::to_le_bytes);
    let sum = numbers
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{} pairs, {sum:016x}", pairs.len())
}

fn is_headline(pair: &Pair, method: PairMethod, home: Home) -> bool {
    (pair.method, pair.home) == (method, home) && pair.ns.has_interval() && is_time(usual(&pair.ns))
}

/// Whether two figures of different runs are of two modes: [`SAME_MODE`] times apart, and beyond the noise of as many
/// comparisons. Of figures with too few samples for an interval, such as imported ones, the ranges must lie apart.
fn are_apart(one: &Estimate, other: &Estimate, comparisons: usize) -> bool {
    match Family::of(comparisons).beyond(SAME_MODE).compare(one, other) {
        Order::TooFew => {
            let (low, high) = (one.low.max(other.low), one.high.min(other.high));
            low > high && !values::is_one_mode(usual(one), usual(other))
        }
        order => order.differs(),
    }
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// The most frequent value of a figure.
fn usual(ns: &Estimate) -> f64 {
    ns.modes.first().map_or(ns.median, |mode| mode.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn host() -> Host {
        Host { machine: "m".into(), boot: "b".into(), cpu: "c".into() }
    }

    pub(super) fn pair(a: u32, b: u32, modes: &[(f64, f64)], claimed: &str) -> Pair {
        let modes: Vec<Mode> = modes.iter().map(|&(value, share)| Mode { value, share }).collect();
        Pair {
            claimed: Some(claimed.into()),
            ..Pair::new(
                a,
                b,
                PairMethod::Turn,
                Home::A,
                Estimate { n: 40, modes: modes.clone(), ..Estimate::exact(modes[0].value) },
            )
        }
    }

    pub(super) fn survey(ns: f64, at_s: u64) -> Survey {
        let coherence = Coherence {
            cpus: vec![0, 1],
            pairs: vec![pair(0, 1, &[(ns, 1.0)], "L3")],
            ..Coherence::default()
        };
        Survey::of(&coherence, host(), at_s).unwrap()
    }

    #[test]
    fn what_was_not_measured_repeatedly_by_turns_is_no_headline() {
        let mut coherence = Coherence { cpus: vec![0, 1], ..Coherence::default() };
        assert_eq!(Survey::of(&coherence, host(), 0), None);
        coherence.pairs = vec![Pair { method: PairMethod::FreeRunning, ..pair(0, 1, &[(5.0, 1.0)], "L3") }];
        assert_eq!(Survey::of(&coherence, host(), 0), None);
        coherence.pairs = vec![Pair { ns: Estimate::exact(25.0), ..pair(0, 1, &[(5.0, 1.0)], "L3") }];
        assert_eq!(Survey::of(&coherence, host(), 0), None);
    }

    #[test]
    fn samples_are_compared_by_the_pairs_that_they_have_in_common() {
        let sample = |random: &[(u32, u32)], ns: f64| {
            let row = (1..6).map(|other| pair(0, other, &[(ns, 1.0)], "L3"));
            let drawn = random.iter().map(|&(a, b)| pair(a, b, &[(500.0, 1.0)], "L3"));
            let mut coherence = Coherence {
                cpus: (0..6).collect(),
                pairs: row.chain(drawn).collect(),
                ..Coherence::default()
            };
            coherence.method.parameters.insert("random_pairs".into(), random.len().into());
            Survey::of(&coherence, host(), 0).unwrap()
        };
        let (one, other) = (sample(&[(1, 2), (3, 4)], 30.0), sample(&[(2, 5)], 31.0));
        assert!(one.is_comparable(&other) && one.pairs != "all", "{one:?} {other:?}");
        assert_eq!(other.steps_ns["L3"].median, 31.0, "no figure of a random pair");
        let recalled = |ns: f64| recall(&sample(&[(1, 5)], ns), std::slice::from_ref(&one), true).history;
        assert_eq!((recalled(32.0).disagree, recalled(130.0).disagree), (0, 1));
    }
}
