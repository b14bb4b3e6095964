//! Average linkage: which CPUs gather first.

use super::times::Times;

/// Groups of CPUs, by index; every CPU is in one.
pub(super) type Partition = Vec<Vec<usize>>;

/// Logarithms of times that differ by no more than rounding errors.
const TIE: f64 = 1e-12;

/// The order in which the CPUs gather, nearest first.
pub(super) struct Dendrogram {
    n: usize,
    /// Two CPUs whose groups join, and the logarithm of the groups' mean distance.
    merges: Vec<(usize, usize, f64)>,
}

impl Dendrogram {
    /// Joins the two nearest groups until one is left. The distance of two groups is the geometric mean of the times that
    /// their pairs have, so a single odd figure changes little. Follows chains of nearest neighbours (F. Murtagh, "A
    /// survey of recent advances in hierarchical clustering algorithms", 1983): O(n²).
    pub(super) fn new(times: &Times) -> Self {
        let n = times.len();
        let mut distance = times.logarithms();
        let at = |a: usize, b: usize| {
            let (a, b) = (a.min(b), a.max(b));
            a * (2 * n - a - 1) / 2 + b - a - 1
        };
        let mut size = vec![1.0f64; n];
        // How many pairs of two groups have a time.
        let mut timed: Vec<f64> = distance.iter().map(|ns| f64::from(u8::from(ns.is_finite()))).collect();
        let mut active: Vec<usize> = (0..n).collect();
        let mut chain: Vec<usize> = Vec::new();
        let mut merges = Vec::with_capacity(n.saturating_sub(1));
        while active.len() > 1 {
            let tip = *chain.last().unwrap_or(&active[0]);
            if chain.is_empty() {
                chain.push(tip);
            }
            let before = chain.len().checked_sub(2).map(|at| chain[at]);
            // Where distances tie, the smaller group is nearer: a coarse clock must not join three CPUs while two pairs
            // would do. Going back where sizes tie, too, ends the chain.
            let mut nearest = before.unwrap_or(usize::MAX);
            let mut least = before.map_or(f64::INFINITY, |before| distance[at(tip, before)]);
            for &other in active.iter().filter(|&&other| other != tip) {
                let ns = distance[at(tip, other)];
                let is_nearer = || ns < least - TIE || ns < least + TIE && size[other] < size[nearest];
                if nearest == usize::MAX || is_nearer() {
                    (nearest, least) = (other, ns);
                }
            }
            if Some(nearest) != before {
                chain.push(nearest);
                continue;
            }
            chain.truncate(chain.len() - 2);
            merges.push((tip, nearest, least));
            active.retain(|&group| group != tip);
            for &other in active.iter().filter(|&&other| other != nearest) {
                let (from, to) = (at(tip, other), at(nearest, other));
                distance[to] = match (distance[from].is_finite(), distance[to].is_finite()) {
                    (true, true) => {
                        (timed[from] * distance[from] + timed[to] * distance[to]) / (timed[from] + timed[to])
                    }
                    _ => distance[from].min(distance[to]),
                };
                timed[to] += timed[from];
            }
            size[nearest] += size[tip];
        }
        merges.sort_by(|a, b| a.2.total_cmp(&b.2));
        Self { n, merges }
    }

    /// Numbers of merges after which the next merge is farther by more than `ratio`, the widest gaps first.
    pub(super) fn gaps(&self, ratio: f64) -> Vec<usize> {
        let gap = |cut: usize| self.merges[cut].2 - self.merges[cut - 1].2;
        let mut cuts: Vec<usize> = (1..self.merges.len())
            .filter(|&cut| self.merges[cut].2.is_finite() && gap(cut) >= ratio.ln())
            .collect();
        cuts.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)));
        cuts
    }

    /// The groups after the first `cut` merges, ordered by first CPU.
    pub(super) fn partition(&self, cut: usize) -> Partition {
        let mut parent: Vec<usize> = (0..self.n).collect();
        for &(a, b, _) in &self.merges[..cut] {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            // The smallest member represents its group.
            parent[a.max(b)] = a.min(b);
        }
        let mut groups: Partition = vec![Vec::new(); self.n];
        for cpu in 0..self.n {
            groups[root(&mut parent, cpu)].push(cpu);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

fn root(parent: &mut [usize], mut cpu: usize) -> usize {
    while parent[cpu] != cpu {
        parent[cpu] = parent[parent[cpu]];
        cpu = parent[cpu];
    }
    cpu
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn the_nearest_gather_first_even_past_an_odd_figure() {
        let matrix = Matrix::parse("\n10\n40,41\n42,400,10.5\n").unwrap();
        let dendrogram = Dendrogram::new(&Times::new(&matrix));
        assert_eq!(dendrogram.gaps(1.2), [2]);
        assert_eq!(dendrogram.partition(2), [vec![0, 1], vec![2, 3]]);
        assert_eq!(dendrogram.partition(0).len(), 4);
        assert_eq!(dendrogram.partition(3).len(), 1);
    }

    #[test]
    fn cpus_without_figures_gather_last() {
        let matrix = Matrix::parse("\n10\n,\n,,12\n").unwrap();
        let dendrogram = Dendrogram::new(&Times::new(&matrix));
        assert_eq!(dendrogram.partition(2), [vec![0, 1], vec![2, 3]]);
        assert!(dendrogram.gaps(1.0).iter().all(|&cut| cut < 2));
    }
}
