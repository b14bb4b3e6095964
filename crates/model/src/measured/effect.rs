//! Whether sharing an object makes a difference.

use coho_topology::CpuSet;

use crate::Matrix;
use crate::stats::middle;

/// What speaks for a difference: how many times as long pairs that do not share an object take, by their medians, and how
/// often one that does is nearer. Threads of a core are much nearer than others, and neighbours on a mesh a little.
struct Least {
    ratio: f64,
    share: f64,
}

const OF_CORES: Least = Least { ratio: 1.15, share: 0.85 };
const OF_OTHERS: Least = Least { ratio: 1.05, share: 0.7 };

/// If nine of ten times lie within this ratio, a difference would show; or within the second one, if there are as many pairs
/// of each kind.
const SCATTER: (f64, f64, usize) = (1.5, 2.0, 100);
/// Times within this ratio are about the same.
const TIE: f64 = 1.03;
/// Pairs that share an object may be farther this often by accident.
const FARTHER: f64 = 0.3;

/// What sharing an object changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Effect {
    /// Nothing: the medians of pairs that do and that do not, and the numbers of both.
    None { near_ns: f64, far_ns: f64, pairs: [usize; 2] },
    /// Those that share it are nearer, though perhaps not all.
    Nearer,
    /// The figures are too few, or scatter too widely.
    Unknown,
}

/// Compares pairs of CPUs that share one of the sets with pairs that do not, of those that are within one of the outer
/// groups and not within one of the finer ones.
pub(super) fn effect(
    matrix: &Matrix,
    sets: &[&CpuSet],
    outer: &[CpuSet],
    finer: &[CpuSet],
    is_core: bool,
) -> Effect {
    let index = |sets: &mut dyn Iterator<Item = &CpuSet>| -> Vec<Option<usize>> {
        let sets: Vec<&CpuSet> = sets.collect();
        matrix.cpus().iter().map(|cpu| sets.iter().position(|set| set.contains(*cpu))).collect()
    };
    let [of_sets, of_outer, of_finer] =
        [index(&mut sets.iter().copied()), index(&mut outer.iter()), index(&mut finer.iter())];
    let together = |of: &[Option<usize>], a: usize, b: usize| of[a].is_some() && of[a] == of[b];
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (a, b, ns) in matrix.pairs().filter(|&(.., ns)| ns > 0.0) {
        if together(&of_outer, a, b) && !together(&of_finer, a, b) {
            if together(&of_sets, a, b) { near.push(ns) } else { far.push(ns) }
        }
    }
    if near.len() < 2 || far.len() < 2 {
        return Effect::Unknown;
    }
    let pairs = [near.len(), far.len()];
    let mut all = [&near[..], &far].concat();
    all.sort_unstable_by(f64::total_cmp);
    far.sort_unstable_by(f64::total_cmp);
    // How often a pair that shares one is nearer; times that are about the same count half.
    let nearer = |ns: &f64| {
        let below = far.partition_point(|other| *other < ns / TIE);
        let up_to = far.partition_point(|other| *other <= ns * TIE);
        (far.len() - up_to) as f64 + (up_to - below) as f64 / 2.0
    };
    let share = near.iter().map(nearer).sum::<f64>() / (near.len() * far.len()) as f64;
    let (near_ns, far_ns) = (middle(&mut near), middle(&mut far));
    let scatter = all[all.len() - 1 - all.len() / 20] / all[all.len() / 20];
    let is_calm = scatter <= SCATTER.0 || scatter <= SCATTER.1 && near.len().min(far.len()) >= SCATTER.2;
    let least = if is_core { OF_CORES } else { OF_OTHERS };
    if far_ns / near_ns >= least.ratio || share >= least.share {
        Effect::Nearer
    } else if is_calm && share >= FARTHER {
        Effect::None { near_ns, far_ns, pairs }
    } else {
        Effect::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(near: f64, spread: f64) -> Effect {
        let n = 8;
        let jitter = |at: usize| 1.0 + spread * ((at * 7919) % 101) as f64 / 100.0;
        let ns = |at: usize| if at / n / 2 == at % n / 2 { near } else { 40.0 } * jitter((at / n).min(at % n) * n + (at / n).max(at % n));
        let matrix = Matrix::new((0..n as u32).collect(), (0..n * n).map(ns).collect()).unwrap();
        let sets: Vec<CpuSet> = (0..4u32).map(|core| CpuSet::from_iter(2 * core..2 * core + 2)).collect();
        effect(&matrix, &sets.iter().collect::<Vec<_>>(), &[CpuSet::up_to(8)], &[], true)
    }

    #[test]
    fn no_effect_is_told_from_one_that_cannot_be_seen() {
        assert!(matches!(of(40.0, 0.02), Effect::None { pairs: [4, 24], .. }));
        assert_eq!(of(30.0, 0.02), Effect::Nearer);
        assert_eq!(of(30.0, 1.5), Effect::Nearer);
        assert_eq!(of(41.0, 3.0), Effect::Unknown);
    }
}
