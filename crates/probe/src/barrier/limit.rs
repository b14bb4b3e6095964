//! The limit that no barrier can beat: the one-way times between the CPUs, measured in the same passes, for a barrier of
//! flags by flags.

use std::collections::BTreeMap;

use coho_profile::PairMethod;

use crate::coherence::arena::LINES;
use crate::coherence::line::Two;
use crate::coherence::run::Effort;
use crate::coherence::visit::{Kind, Outcome, Task, Visit, settle};
use crate::frame::End;
use crate::statistics;
use crate::workers::Workers;

/// Batches of each method in a pass.
const BATCHES: usize = 8;
/// The relative half-width of the interval that is tight enough.
const HALF_WIDTH: f64 = 0.02;

/// Time from a store by one CPU until another sees it, in ns, for each pair.
pub(super) type OneWay = BTreeMap<(u32, u32), f64>;

/// The times of the pairs in one pass.
#[derive(Default)]
pub(super) struct Ways {
    /// The smaller of half a round trip through one line (`turn`) and through two (`flags`), for whatever takes lines over
    /// by atomic operations. Both hand over a word and wait for an answer, so neither can be below the true time.
    pub(super) least: OneWay,
    /// By `flags`, for barriers whose threads store words of their own and wait for those of others. Such threads never
    /// pass one word on, as `turn` does.
    pub(super) flags: OneWay,
}

/// If this many pairs in a row never met, the others are not tried: such CPUs run in turn.
const NEVER_MET: usize = 8;

/// Measures all pairs of these CPUs once on these lines, or as many as there is time for.
pub(super) fn one_way(workers: &Workers, cpus: &[u32], lines: [Two<'_>; LINES], end: &End) -> Ways {
    let mut times = Ways::default();
    let mut tried = 0;
    for (index, &a) in cpus.iter().enumerate() {
        for &b in &cpus[index + 1..] {
            if end.has_come() || times.least.is_empty() && tried == NEVER_MET {
                return times;
            }
            tried += 1;
            let by = between(workers, (a, b), lines, &[PairMethod::Turn, PairMethod::Flags]);
            let least = by.iter().copied().fold(f64::NAN, f64::min);
            for (times, ns) in [(&mut times.least, least), (&mut times.flags, by[1])] {
                times.extend(ns.is_finite().then_some(((a, b), ns)));
            }
        }
    }
    times
}

/// The time between two CPUs on these lines by each method, in ns: medians, NaN if they did not meet.
pub(super) fn between(
    workers: &Workers,
    pair: (u32, u32),
    lines: [Two<'_>; LINES],
    methods: &[PairMethod],
) -> Vec<f64> {
    let tasks = methods.iter().map(|&method| Task { kind: Kind::Time(method), lines, rounds: 0 }).collect();
    let outcomes = meet(workers, pair, tasks, Effort::new(BATCHES, 4 * BATCHES, HALF_WIDTH));
    let medians = outcomes.into_iter().map(|outcome| {
        let mut ns: Vec<_> = outcome.samples.iter().map(|sample| f64::from(sample.value)).collect();
        ns.sort_by(f64::total_cmp);
        statistics::median(&ns)
    });
    let medians = medians.chain(std::iter::repeat(f64::NAN));
    medians.take(methods.len()).collect()
}

/// The outcomes of these tasks for two CPUs, as far as they got.
pub(super) fn meet(
    workers: &Workers,
    (a, b): (u32, u32),
    tasks: Vec<Task<'_>>,
    effort: Effort,
) -> Vec<Outcome> {
    let visit = Visit::new(tasks, effort);
    let [lead, follow] = visit.jobs();
    let parts = workers.run(vec![(a, lead), (b, follow)]);
    let parts: Vec<_> = parts.into_iter().map(|part| part.ok().map(|done| done.value)).collect();
    settle(&parts)
}

/// The two CPUs that are farthest apart, among those that met.
pub(super) fn farthest(times: &OneWay, cpus: &[u32]) -> Option<(u32, u32)> {
    let of_these = times.iter().filter(|((a, b), _)| cpus.contains(a) && cpus.contains(b));
    of_these.max_by(|a, b| a.1.total_cmp(b.1)).map(|(&pair, _)| pair)
}

/// The times between ranks on these CPUs, a row for each; NaN if not measured, as between a CPU and itself.
pub(super) fn between_ranks(times: &OneWay, cpus: &[u32]) -> Vec<f64> {
    let direct = |a: u32, b: u32| times.get(&(a, b)).or(times.get(&(b, a))).copied().unwrap_or(f64::NAN);
    cpus.iter().flat_map(|&a| cpus.iter().map(move |&b| direct(a, b))).collect()
}

/// The shortest paths between the CPUs, through others if that is shorter; by index. Infinite if unknown.
fn closure(times: &OneWay, cpus: &[u32]) -> Vec<Vec<f64>> {
    let n = cpus.len();
    let mut ways: Vec<Vec<f64>> = between_ranks(times, cpus).chunks(n.max(1)).map(<[f64]>::to_vec).collect();
    for (row, from) in ways.iter_mut().zip(cpus) {
        for (way, to) in row.iter_mut().zip(cpus) {
            // Ranks that share a CPU share its caches, so lines need not move.
            if from == to {
                *way = 0.0;
            } else if way.is_nan() {
                *way = f64::INFINITY;
            }
        }
    }
    for over in 0..n {
        for from in 0..n {
            for to in 0..n {
                let way = ways[from][over] + ways[over][to];
                if way < ways[from][to] {
                    ways[from][to] = way;
                }
            }
        }
    }
    ways
}

/// The least time of a barrier of threads on these CPUs: the diameter; `None` if a pair is missing.
pub(super) fn of_barrier(times: &OneWay, cpus: &[u32]) -> Option<f64> {
    let ways = closure(times, cpus);
    ways.iter().flatten().copied().fold(None, larger).filter(|ns| ns.is_finite() && *ns > 0.0)
}

/// The same on a barrier's own lines: scaled by the ratio of one pair's times.
pub(super) fn on_own_lines(times: &OneWay, cpus: &[u32], (pair, own_ns): ((u32, u32), f64)) -> Option<f64> {
    Some(of_barrier(times, cpus)? * own_ns / times.get(&pair)?)
}

/// The least time of fork and join by the first of these CPUs: to the farthest and back.
pub(super) fn of_fork_join(times: &OneWay, cpus: &[u32]) -> Option<f64> {
    let ways = closure(times, cpus);
    let there_and_back = ways.first()?.iter().map(|way| 2.0 * way);
    there_and_back.fold(None, larger).filter(|ns| ns.is_finite() && *ns > 0.0)
}

fn larger(so_far: Option<f64>, ns: f64) -> Option<f64> {
    Some(so_far.map_or(ns, |so_far| so_far.max(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_diameter_and_the_way_there_and_back() {
        // 0 and 1 near, 2 far from both, 3 nearer over 1 than directly.
        let times = OneWay::from([
            ((0, 1), 10.0),
            ((0, 2), 50.0),
            ((1, 2), 60.0),
            ((0, 3), 90.0),
            ((1, 3), 30.0),
            ((2, 3), 70.0),
        ]);
        assert_eq!(of_barrier(&times, &[0, 1]), Some(10.0));
        assert_eq!(of_barrier(&times, &[0, 1, 2]), Some(60.0));
        assert_eq!(of_barrier(&times, &[0, 1, 3]), Some(40.0));
        assert_eq!(of_fork_join(&times, &[0, 1, 3]), Some(80.0));
        assert_eq!(of_fork_join(&times, &[2, 0, 1]), Some(120.0));
        assert_eq!(of_barrier(&times, &[0, 4]), None, "a pair that was not measured");
        assert_eq!(of_barrier(&times, &[0]), None);
        // Threads alternating on two CPUs are as far apart as the CPUs, not twice as far.
        assert_eq!(of_barrier(&times, &[0, 1, 0, 1]), Some(10.0));
        assert_eq!(of_fork_join(&times, &[0, 1, 0, 1]), Some(20.0));
        assert_eq!(of_barrier(&times, &[0, 0]), None);
        assert_eq!(on_own_lines(&times, &[0, 1], ((0, 1), 8.5)), Some(8.5));
        assert_eq!(on_own_lines(&times, &[0, 1, 3], ((0, 3), 45.0)), Some(20.0));
        assert_eq!(on_own_lines(&times, &[0, 4], ((0, 4), 8.5)), None);
        assert_eq!(farthest(&times, &[2, 1, 0, 3]), Some((0, 3)));
        assert_eq!(farthest(&times, &[2, 1, 0]), Some((1, 2)));
        assert_eq!(farthest(&times, &[2]), None);
        let ranks = between_ranks(&times, &[2, 0, 4]);
        assert_eq!(ranks[1], 50.0);
        assert_eq!(ranks[3], 50.0);
        assert!(ranks[0].is_nan() && ranks[2].is_nan());
    }
}
