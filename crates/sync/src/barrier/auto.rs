//! How [`Algorithm::Auto`] chooses.

use super::Algorithm;
use super::groups::{Layout, Tier};
use crate::Error;
use crate::rule::{self, Choice, Cluster};

/// Times between the threads of a barrier, for [`Algorithm::Auto`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latencies<'a> {
    /// One-way times between ranks in ns, one row per rank; NaN or infinite if not known.
    pub one_way_ns: &'a [f64],
    /// What one more remote line costs a thread that reads several, in ns; NaN if not known.
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

/// The assumed cost of an extra remote line if it was not measured, in ns.
const EXTRA_LINE_NS: f64 = 3.0;

/// The threads of a barrier, as far as they are known.
pub(super) struct Shape<'a> {
    pub(super) threads: usize,
    pub(super) layout: &'a Layout,
    pub(super) latencies: Option<Latencies<'a>>,
}

impl Shape<'_> {
    /// The algorithm that the [rule](crate::rule) chooses, and the size of its groups.
    pub(super) fn choose(&self) -> (Algorithm, Option<usize>) {
        let cluster = |tier: &Tier| Cluster {
            threads: tier.groups.iter().map(Vec::len).max().unwrap_or(0),
            ns: longest(tier.groups.iter().filter_map(|group| self.longest_ns(group)))
                .unwrap_or(tier.usual_ns),
        };
        let clusters: Vec<_> = self.layout.tiers.iter().map(cluster).collect();
        let all: Vec<_> = (0..self.threads).collect();
        let across_ns = self.longest_ns(&all).unwrap_or(self.layout.usual_ns);
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

/// The fastest of the algorithms whose measured times are known.
pub(super) fn fastest(measured: &dyn Fn(Algorithm) -> Option<f64>) -> Option<Algorithm> {
    let known = |algorithm| Some((algorithm, measured(algorithm).filter(|ns| ns.is_finite())?));
    let fastest = Algorithm::ALL.into_iter().filter_map(known).min_by(|a, b| a.1.total_cmp(&b.1));
    fastest.map(|(algorithm, _)| algorithm)
}

#[cfg(test)]
mod tests {
    use super::super::groups::blocks;
    use super::*;

    /// Tiers of blocks, each given by its number of threads and the usual time inside a block.
    fn layout<const N: usize>(threads: usize, blocks_of: [(usize, f64); N]) -> Layout {
        let tier = |(size, usual_ns)| Tier { usual_ns, groups: blocks(threads, size) };
        Layout { tiers: blocks_of.map(tier).into(), ..Layout::UNKNOWN }
    }

    fn by_layout(threads: usize, layout: &Layout) -> (Algorithm, Option<usize>) {
        Shape { threads, layout, latencies: None }.choose()
    }

    #[test]
    fn chooses_by_size_and_levels() {
        let flat = Layout::UNKNOWN;
        assert_eq!(by_layout(1, &flat).0, Algorithm::Fbs);
        assert_eq!(by_layout(2, &flat).0, Algorithm::FbsOneLine);
        assert_eq!(by_layout(8, &flat).0, Algorithm::Fbs);
        let within = Layout { usual_ns: 30.0, ..flat };
        assert_eq!(by_layout(16, &within).0, Algorithm::Fbs);
        assert_eq!(by_layout(128, &layout(128, [(16, 30.0)])), (Algorithm::Grid, Some(16)));
        let deep = layout(2048, [(16, 30.0), (256, 100.0)]);
        assert_eq!(by_layout(2048, &deep).0, Algorithm::Hierarchical);
    }

    #[test]
    fn given_times_decide() {
        let layout = layout(64, [(8, 30.0)]);
        let near = |a: usize, b: usize| a / 8 == b / 8;
        let times = |within: f64, across: f64| -> Vec<f64> {
            (0..64 * 64).map(|at| if near(at / 64, at % 64) { within } else { across }).collect()
        };
        let given = |one_way_ns: &[f64], extra_line_ns| {
            let latencies = Some(Latencies { one_way_ns, extra_line_ns });
            Shape { threads: 64, layout: &layout, latencies }.choose()
        };
        assert_eq!(given(&times(30.0, 100.0), 0.1), (Algorithm::Fbs, None));
        assert_eq!(given(&times(30.0, 100.0), 5.0), (Algorithm::Grid, Some(8)));
        assert_eq!(given(&times(30.0, 30.0), 29.0).0, Algorithm::Dissemination { radix: 2 });
        // Unknown times are assumed to be the usual ones.
        assert_eq!(given(&times(f64::NAN, f64::NAN), f64::NAN), by_layout(64, &layout));
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
