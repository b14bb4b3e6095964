//! What [`Algorithm::Auto`] stands for.

use coho_topology::Level;

use super::Algorithm;
use super::groups::Tier;
use crate::Error;
use crate::rule::{self, Choice, Cluster};

/// Times between the threads of a barrier, for [`Algorithm::Auto`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latencies<'a> {
    /// One-way times between ranks in ns, a row for each rank; NaN or infinite where not known.
    pub one_way_ns: &'a [f64],
    /// What one more remote line costs a thread that reads several, in ns; NaN where not known.
    pub extra_line_ns: f64,
}

impl Latencies<'_> {
    /// # Errors
    /// [`Error::Argument`] for a time below 0.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let below = |ns: &f64| *ns < 0.0;
        if let Some(at) = self.one_way_ns.iter().position(below) {
            return Err(Error::Argument(format!("one-way time {at} is {} ns", self.one_way_ns[at])));
        }
        if below(&self.extra_line_ns) {
            return Err(Error::Argument(format!("one more line costs {} ns", self.extra_line_ns)));
        }
        Ok(())
    }
}

/// What an extra remote line costs where nobody has measured it, in ns.
const EXTRA_LINE_NS: f64 = 3.0;

/// One-way time between CPUs that share no less than this, in ns, where nobody has measured it. Only their ratios
/// matter, and those roughly.
fn typical_ns(level: Option<Level>) -> f64 {
    match level {
        Some(Level::Core) => 10.0,
        Some(Level::Module | Level::L2) => 20.0,
        Some(Level::L3) => 30.0,
        Some(Level::Die) => 60.0,
        Some(Level::Numa) => 80.0,
        Some(_) => 100.0,
        None => 140.0,
    }
}

/// The threads that a barrier is for, as far as they are known.
pub(super) struct Shape<'a> {
    pub(super) threads: usize,
    pub(super) tiers: &'a [Tier],
    /// What all of them share.
    pub(super) common: Option<Level>,
    pub(super) latencies: Option<Latencies<'a>>,
}

impl Shape<'_> {
    /// The algorithm by the [rule](crate::rule), and the size of its groups.
    pub(super) fn choose(&self) -> (Algorithm, Option<usize>) {
        let cluster = |tier: &Tier| Cluster {
            threads: tier.groups.iter().map(Vec::len).max().unwrap_or(0),
            ns: longest(tier.groups.iter().filter_map(|group| self.longest_ns(group)))
                .unwrap_or(typical_ns(Some(tier.level))),
        };
        let clusters: Vec<_> = self.tiers.iter().map(cluster).collect();
        let all: Vec<_> = (0..self.threads).collect();
        let across_ns = self.longest_ns(&all).unwrap_or(typical_ns(self.common));
        let given = self.latencies.map(|latencies| latencies.extra_line_ns);
        let extra_line_ns = given.filter(|ns| ns.is_finite() && *ns >= 0.0).unwrap_or(EXTRA_LINE_NS);
        match rule::choose(self.threads, &clusters, across_ns, extra_line_ns) {
            Choice::OneLine => (Algorithm::FbsOneLine, None),
            Choice::Flat => (Algorithm::Fbs, None),
            Choice::Grid { group } => (Algorithm::Grid, Some(group)),
            Choice::Hierarchical => (Algorithm::Hierarchical, None),
            Choice::Dissemination => (Algorithm::Dissemination { radix: 2 }, None),
        }
    }

    /// The longest known one-way time between any two of these ranks.
    fn longest_ns(&self, ranks: &[usize]) -> Option<f64> {
        let times = self.latencies?.one_way_ns;
        let pairs = ranks.iter().flat_map(|&a| ranks.iter().map(move |&b| (a, b)));
        longest(pairs.filter(|(a, b)| a != b).map(|(a, b)| times[a * self.threads + b]))
    }
}

fn longest(times: impl Iterator<Item = f64>) -> Option<f64> {
    times.filter(|ns| ns.is_finite()).max_by(f64::total_cmp)
}

/// The fastest of all algorithms by measured times, of those that are known.
pub(super) fn fastest(measured: &dyn Fn(Algorithm) -> Option<f64>) -> Option<Algorithm> {
    let known = |algorithm| Some((algorithm, measured(algorithm).filter(|ns| ns.is_finite())?));
    let fastest = Algorithm::ALL.into_iter().filter_map(known).min_by(|a, b| a.1.total_cmp(&b.1));
    fastest.map(|(algorithm, _)| algorithm)
}

#[cfg(test)]
mod tests {
    use super::super::groups::blocks;
    use super::*;

    fn shape<'a>(threads: usize, tiers: &'a [Tier], latencies: Option<Latencies<'a>>) -> Shape<'a> {
        Shape { threads, tiers, common: None, latencies }
    }

    #[test]
    fn chooses_by_size_and_levels() {
        let caches = |threads| [Tier { level: Level::L3, groups: blocks(threads, 16) }];
        assert_eq!(shape(1, &[], None).choose().0, Algorithm::Fbs);
        assert_eq!(shape(2, &[], None).choose().0, Algorithm::FbsOneLine);
        assert_eq!(shape(8, &[], None).choose().0, Algorithm::Fbs);
        let within = Shape { common: Some(Level::L3), ..shape(16, &[], None) };
        assert_eq!(within.choose().0, Algorithm::Fbs);
        assert_eq!(shape(128, &caches(128), None).choose(), (Algorithm::Grid, Some(16)));
        let deep = [
            Tier { level: Level::L3, groups: blocks(2048, 16) },
            Tier { level: Level::Package, groups: blocks(2048, 256) },
        ];
        assert_eq!(shape(2048, &deep, None).choose().0, Algorithm::Hierarchical);
    }

    #[test]
    fn given_times_decide() {
        let tiers = [Tier { level: Level::L3, groups: blocks(64, 8) }];
        let near = |a: usize, b: usize| a / 8 == b / 8;
        let times = |within: f64, across: f64| -> Vec<f64> {
            (0..64 * 64).map(|at| if near(at / 64, at % 64) { within } else { across }).collect()
        };
        let given = |one_way_ns: &[f64], extra_line_ns| {
            shape(64, &tiers, Some(Latencies { one_way_ns, extra_line_ns })).choose()
        };
        assert_eq!(given(&times(30.0, 100.0), 0.1), (Algorithm::Fbs, None));
        assert_eq!(given(&times(30.0, 100.0), 5.0), (Algorithm::Grid, Some(8)));
        assert_eq!(given(&times(30.0, 30.0), 29.0).0, Algorithm::Dissemination { radix: 2 });
        // What is not known is taken to be as usual.
        assert_eq!(given(&times(f64::NAN, f64::NAN), f64::NAN), shape(64, &tiers, None).choose());
    }

    #[test]
    fn believes_measured_times() {
        let measured = |algorithm| match algorithm {
            Algorithm::Central => Some(80.0),
            Algorithm::Fbs => Some(90.0),
            Algorithm::Grid => Some(f64::NAN),
            _ => None,
        };
        assert_eq!(fastest(&measured), Some(Algorithm::Central));
        assert_eq!(fastest(&|_| None), None);
    }
}
