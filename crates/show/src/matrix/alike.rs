//! What stands in the map for pairs that a sample left out.

use std::collections::HashMap;

use super::index;
use crate::scale;

/// Fewer times than this between two groups do not stand for the others: wider groups do.
const FEW: usize = 3;

/// Gives each pair of cells without a time the median of those between the same two groups: the finest groups that have
/// some. `groups` has the group of each cell by level, finest first.
pub(super) fn fill(ns: &mut [f64], groups: &[Vec<usize>], cells: usize) {
    let pairs = || (0..cells).flat_map(|i| (i + 1..cells).map(move |j| (i, j)));
    // At the last level, all are alike.
    let all = vec![0; cells];
    let levels: Vec<&Vec<usize>> = groups.iter().chain([&all]).collect();
    let mut left: Vec<(usize, usize)> = pairs().filter(|&(i, j)| ns[index(cells, i, j)].is_nan()).collect();
    let measured: Vec<(usize, usize)> = pairs().filter(|&(i, j)| !ns[index(cells, i, j)].is_nan()).collect();
    for (at, of) in levels.iter().enumerate() {
        // CPUs that share a finer group are nearer than the others of this one.
        let finer = at.checked_sub(1).map(|finer| levels[finer]);
        let is_nearer = |i: usize, j: usize| finer.is_some_and(|finer| finer[i] == finer[j]);
        let between = |i: usize, j: usize| (of[i].min(of[j]), of[i].max(of[j]));
        let mut times: HashMap<(usize, usize), Vec<f64>> = HashMap::new();
        for &(i, j) in measured.iter().filter(|&&(i, j)| !is_nearer(i, j)) {
            times.entry(between(i, j)).or_default().push(ns[index(cells, i, j)]);
        }
        let medians: HashMap<(usize, usize), f64> = times
            .into_iter()
            .filter(|(_, times)| times.len() >= FEW || at + 1 == levels.len())
            .filter_map(|(groups, times)| Some((groups, scale::median(times.into_iter())?)))
            .collect();
        left.retain(|&(i, j)| match medians.get(&between(i, j)) {
            Some(median) => {
                ns[index(cells, i, j)] = *median;
                false
            }
            None => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_left_out_look_like_those_between_the_same_groups() {
        // Cores of two CPUs, two groups of four; times within groups 25, across 90, but 0 and 6 are 99 apart.
        let groups = [(0..8).map(|cpu| cpu / 2).collect(), (0..8).map(|cpu| cpu / 4).collect::<Vec<usize>>()];
        let time = |i: usize, j: usize| match (i / 2 == j / 2, i / 4 == j / 4) {
            (true, _) => 8.0,
            (_, true) => 25.0,
            _ if (i, j) == (0, 6) => 99.0,
            _ => 90.0,
        };
        let mut ns = vec![f64::NAN; 28];
        let measured = [
            (0, 1),
            (2, 3),
            (4, 5),
            (6, 7),
            (0, 2),
            (1, 3),
            (0, 3),
            (4, 6),
            (5, 7),
            (4, 7),
            (0, 6),
            (1, 5),
            (2, 4),
        ];
        for (i, j) in measured {
            ns[index(8, i, j)] = time(i, j);
        }
        fill(&mut ns, &groups, 8);
        assert_eq!(
            [(1, 2), (5, 6), (0, 6), (3, 7), (0, 1)].map(|(i, j)| ns[index(8, i, j)]),
            [25.0, 25.0, 99.0, 90.0, 8.0]
        );
    }
}
