//! Whether the CPUs of two profiles were as far apart.

use std::collections::BTreeMap;

use coho_profile::{Coherence, Pair, Sync};

use super::{are_apart, is_time, usual};
use crate::Matrix;
use crate::words::tenths;

/// Pairs of CPUs that were at different distances in two profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// How many pairs were.
    pub pairs: usize,
    /// Of how many that both measured in the same way.
    pub common: usize,
    /// The pair that differs most.
    pub cpus: (u32, u32),
    /// Its time in the first and in the second, in ns.
    pub ns: [f64; 2],
}

/// The pairs whose times are of two modes; `None` if none is.
pub fn apart(first: &Coherence, second: &Coherence) -> Option<Apart> {
    let (method, home) = Matrix::best_method(&first.pairs)?;
    let mut apart = Apart { pairs: 0, common: 0, cpus: (0, 0), ns: [1.0; 2] };
    let ratio = |[one, other]: [f64; 2]| f64::max(one / other, other / one);
    let [first, second] = [first, second].map(|coherence| {
        let is_best = |pair: &&Pair| (pair.method, pair.home) == (method, home);
        let timed = coherence.pairs.iter().filter(is_best).map(|pair| ((pair.a, pair.b), &pair.ns));
        timed.filter(|(_, ns)| is_time(usual(ns))).collect::<BTreeMap<_, _>>()
    });
    let both: Vec<_> =
        first.iter().filter_map(|(cpus, ns)| Some((*cpus, [*ns, *second.get(cpus)?]))).collect();
    apart.common = both.len();
    for (cpus, [one, other]) in both {
        if !are_apart(one, other, apart.common) {
            continue;
        }
        apart.pairs += 1;
        let times = [usual(one), usual(other)];
        if ratio(times) > ratio(apart.ns) {
            (apart.cpus, apart.ns) = (cpus, times);
        }
    }
    (apart.pairs > 0).then_some(apart)
}

impl Apart {
    /// In words, with what to call the two profiles.
    pub fn words(&self, [first, second]: [&str; 2]) -> String {
        let Self { pairs, common, cpus: (a, b), ns: times } = self;
        let [one, other] = times.map(tenths);
        let which = match common {
            1 => format!("CPUs {a} and {b} were at different distances"),
            _ => format!(
                "{pairs} of {common} pairs of CPUs were at different distances, most CPUs {a} and {b}"
            ),
        };
        format!(
            "{which}: {one} ns in {first}, {other} ns in {second}. Other figures of these CPUs may differ \
             for that reason alone."
        )
    }
}

/// The limits of barriers in two profiles, in ns, if the CPUs were at different distances while barriers were measured:
/// that may be minutes after the pairs were. `None` too where the limits are not of as many threads or of one kind.
pub fn limits_apart(first: &Sync, second: &Sync) -> Option<[f64; 2]> {
    let threads = |sync: &Sync| sync.barriers.iter().map(|barrier| barrier.threads).max();
    let [one, other] = [first.limit_ns.as_ref()?, second.limit_ns.as_ref()?];
    let is_same = threads(first) == threads(second) && one.barrier_by == other.barrier_by;
    (is_same && are_apart(&one.barrier, &other.barrier, 1))
        .then(|| [usual(&one.barrier), usual(&other.barrier)])
}

#[cfg(test)]
mod tests {
    use coho_profile::{BarrierTime, Estimate, PairMethod, SyncLimit};

    use super::super::tests::pair;
    use super::*;

    fn of(times: &[(u32, f64)]) -> Coherence {
        let pairs: Vec<Pair> = times.iter().map(|&(b, ns)| pair(0, b, &[(ns, 1.0)], "L3")).collect();
        Coherence { pairs, ..Coherence::default() }
    }

    #[test]
    fn only_times_beyond_one_mode_are_other_distances() {
        let first = of(&[(1, 26.0), (2, 100.0), (3, 90.0)]);
        assert_eq!(apart(&first, &of(&[(1, 38.0), (2, 70.0), (4, 500.0)])), None);
        let moved = apart(&first, &of(&[(1, 128.0), (2, 100.0), (3, 59.0)])).unwrap();
        assert_eq!((moved.pairs, moved.common, moved.cpus), (2, 3, (0, 1)));
        let words = moved.words(["a", "b"]);
        assert!(words.starts_with("2 of 3 pairs") && words.contains("0 and 1: 26.0 ns in a, 128 ns in b"));
        assert_eq!(apart(&of(&[]), &first), None);
    }
    #[test]
    fn limits_beyond_one_mode_are_other_distances_if_they_are_of_as_many_threads() {
        let of = |ns: f64, threads: u32, by| {
            let limit = Estimate { median: ns, low: 0.9 * ns, high: 1.1 * ns, n: 42, ..Estimate::exact(ns) };
            let limit = SyncLimit { barrier: limit.clone(), barrier_by: by, fork_join: limit };
            let barriers = vec![BarrierTime { threads, ..BarrierTime::default() }];
            Sync { limit_ns: Some(limit), barriers, ..Sync::default() }
        };
        let flags = Some(PairMethod::Flags);
        let first = of(42.0, 2, flags);
        assert_eq!(limits_apart(&first, &of(228.0, 2, flags)), Some([42.0, 228.0]));
        for other in [of(50.0, 2, flags), of(228.0, 4, flags), of(228.0, 2, None), Sync::default()] {
            assert_eq!(limits_apart(&first, &other), None);
        }
    }
}
