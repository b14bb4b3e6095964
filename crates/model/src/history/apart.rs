//! Whether the CPUs of two profiles were as far apart.

use coho_profile::Coherence;

use super::{SAME_MODE, is_time, ns, usual};
use crate::Matrix;

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

/// The pairs whose usual times differ by more than [`SAME_MODE`]; `None` if none does.
pub fn apart(first: &Coherence, second: &Coherence) -> Option<Apart> {
    let (method, home) = Matrix::best_method(&first.pairs)?;
    let mut apart = Apart { pairs: 0, common: 0, cpus: (0, 0), ns: [1.0; 2] };
    let ratio = |[one, other]: [f64; 2]| f64::max(one / other, other / one);
    for pair in first.pairs.iter().filter(|pair| (pair.method, pair.home) == (method, home)) {
        let of_same = second.pairs.iter().find(|other| {
            (other.a, other.b, other.method, other.home) == (pair.a, pair.b, pair.method, pair.home)
        });
        let Some(times) = of_same.map(|other| [usual(&pair.ns), usual(&other.ns)]) else { continue };
        if !times.into_iter().all(is_time) {
            continue;
        }
        apart.common += 1;
        apart.pairs += usize::from(ratio(times) > SAME_MODE);
        if ratio(times) > ratio(apart.ns) {
            (apart.cpus, apart.ns) = ((pair.a, pair.b), times);
        }
    }
    (apart.pairs > 0).then_some(apart)
}

impl Apart {
    /// In words, with what to call the two profiles.
    pub fn words(&self, [first, second]: [&str; 2]) -> String {
        let Self { pairs, common, cpus: (a, b), ns: times } = self;
        let [one, other] = times.map(ns);
        let which = match common {
            1 => format!("CPUs {a} and {b} were at different distances"),
            _ => format!(
                "{pairs} of {common} pairs of CPUs were at different distances, most CPUs {a} and {b}"
            ),
        };
        format!(
            "{which}: {one} ns in {first}, {other} ns in {second}. Other figures of these CPUs may differ for that alone."
        )
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::Pair;

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
}
