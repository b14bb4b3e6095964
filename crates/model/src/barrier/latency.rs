//! One-way times between all CPUs, from a table or from the levels of a machine.

use std::collections::BTreeMap;

use crate::Matrix;

/// One level of a machine whose units are all alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// CPUs in a unit of this level.
    pub cpus: usize,
    /// One-way time between CPUs of one unit that share no smaller unit, in ns.
    pub ns: f64,
}

/// Groups of CPUs by index, one partition per level, finest first.
pub(super) type Levels = Vec<Vec<Vec<usize>>>;

/// The one-way time of each pair, by index; the same in both directions.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Latency {
    /// Row by row.
    Table { cpus: usize, ns: Vec<f64> },
    /// The time of each tier, innermost first, and for each CPU its unit in each tier.
    Tiers { ns: Vec<f64>, units: Vec<u32> },
}

impl Latency {
    pub(super) fn between(&self, a: usize, b: usize) -> f64 {
        match self {
            _ if a == b => 0.0,
            Self::Table { cpus, ns } => ns[a * cpus + b],
            Self::Tiers { ns, units } => {
                let units_of = |cpu: usize| &units[cpu * ns.len()..][..ns.len()];
                let shared = units_of(a).iter().zip(units_of(b)).position(|(a, b)| a == b);
                ns[shared.expect("the last tier holds all CPUs")]
            }
        }
    }

    /// From tiers, innermost first, the last of which holds all CPUs.
    pub(super) fn from_tiers(tiers: &[Tier]) -> Self {
        let cpus = tiers.last().map_or(0, |tier| tier.cpus);
        let units =
            (0..cpus).flat_map(|cpu| tiers.iter().map(move |tier| (cpu / tier.cpus) as u32)).collect();
        Self::Tiers { ns: tiers.iter().map(|tier| tier.ns).collect(), units }
    }

    /// A table from a matrix whose CPUs are `cpus`, and how many pairs had no time. Such a pair gets the median
    /// of the pairs in the same relation: those that share the same finest level or, where no level is shared,
    /// those whose groups at the coarsest level are as far apart as the corners of a cube (their numbers differ
    /// in as many bits). `None` if no pair has a time.
    pub(super) fn from_matrix(matrix: &Matrix, cpus: &[u32], levels: &Levels) -> Option<(Self, usize)> {
        let n = cpus.len();
        let row: BTreeMap<u32, usize> =
            matrix.cpus().iter().enumerate().map(|(at, &cpu)| (cpu, at)).collect();
        let known = |a: usize, b: usize| matrix.between(*row.get(&cpus[a])?, *row.get(&cpus[b])?);
        let relation = Relation::new(n, levels);
        let mut ns = vec![0.0; n * n];
        let mut by_relation: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut missing = Vec::new();
        for a in 0..n {
            for b in a + 1..n {
                match known(a, b) {
                    Some(time) => {
                        (ns[a * n + b], ns[b * n + a]) = (time, time);
                        by_relation.entry(relation.distance(a, b)).or_default().push(time);
                    }
                    None => missing.push((a, b)),
                }
            }
        }
        let medians: BTreeMap<usize, f64> =
            by_relation.iter_mut().map(|(&key, times)| (key, crate::stats::middle(times))).collect();
        let largest = medians.values().copied().fold(f64::NAN, f64::max);
        for &(a, b) in &missing {
            let time = medians.get(&relation.distance(a, b)).copied().unwrap_or(largest);
            (ns[a * n + b], ns[b * n + a]) = (time, time);
        }
        (!medians.is_empty()).then_some((Self::Table { cpus: n, ns }, missing.len()))
    }
}

/// How near two CPUs are by the levels alone.
struct Relation {
    /// The group of each CPU, by level.
    group: Vec<Vec<usize>>,
}

impl Relation {
    fn new(n: usize, levels: &Levels) -> Self {
        let group_of = |groups: &Vec<Vec<usize>>| {
            let mut group_index = vec![0; n];
            for (index, group) in groups.iter().enumerate() {
                group.iter().for_each(|&cpu| group_index[cpu] = index);
            }
            group_index
        };
        Self { group: levels.iter().map(group_of).collect() }
    }

    /// The distance; smaller is nearer.
    fn distance(&self, a: usize, b: usize) -> usize {
        let shared = self.group.iter().position(|group| group[a] == group[b]);
        shared.unwrap_or_else(|| {
            let bits = self.group.last().map_or(0, |group| (group[a] ^ group[b]).count_ones());
            self.group.len() + bits as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_found_from_the_inside() {
        let latency = Latency::from_tiers(&[Tier { cpus: 2, ns: 10.0 }, Tier { cpus: 8, ns: 50.0 }]);
        let row: Vec<f64> = (0..4).map(|cpu| latency.between(1, cpu)).collect();
        assert_eq!(row, [10.0, 0.0, 50.0, 50.0]);
    }

    #[test]
    fn pairs_without_a_time_get_that_of_their_like() {
        let matrix = Matrix::parse_csv("\n10\n90,\n,95,\n").unwrap();
        let levels = vec![vec![vec![0, 1], vec![2, 3]]];
        let (latency, missing) = Latency::from_matrix(&matrix, &[0, 1, 2, 3], &levels).unwrap();
        assert_eq!((latency.between(0, 1), latency.between(0, 2), latency.between(1, 3)), (10.0, 90.0, 95.0));
        assert_eq!((latency.between(2, 3), latency.between(3, 0), missing), (10.0, 90.0, 3));
    }

    #[test]
    fn groups_stand_at_the_corners_of_a_cube() {
        let mut ns = vec![f64::NAN; 64];
        (1..8).for_each(|cpu| ns[cpu] = 100.0 * (cpu as u32).count_ones() as f64);
        let matrix = Matrix::new((0..8).collect(), ns).unwrap();
        let alone = vec![(0..8).map(|cpu| vec![cpu]).collect()];
        let (latency, _) = Latency::from_matrix(&matrix, matrix.cpus(), &alone).unwrap();
        assert_eq!(
            (latency.between(3, 2), latency.between(3, 5), latency.between(3, 4)),
            (100.0, 200.0, 300.0)
        );
    }
}
