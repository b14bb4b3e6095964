//! One-way times between all CPUs, from a table or from the levels of a machine.

use std::collections::BTreeMap;

use coho_profile::Ns;

use crate::Matrix;

/// One level of a machine whose units are all alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// CPUs in a unit of this level.
    pub cpus: usize,
    /// One-way time between CPUs of one unit that share no smaller unit.
    pub one_way: Ns,
}

/// Groups of CPUs by index, one partition per level, finest first.
pub(super) type Levels = Vec<Vec<Vec<usize>>>;

/// The one-way time of each pair, by index; the same in both directions.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Latency {
    /// Row by row.
    Table { cpus: usize, times: Vec<Ns> },
    /// The time of each tier, innermost first, and for each CPU its unit in each tier.
    Tiers { times: Vec<Ns>, units: Vec<u32> },
}

impl Latency {
    pub(super) fn between(&self, a: usize, b: usize) -> Ns {
        match self {
            _ if a == b => Ns::ZERO,
            Self::Table { cpus, times } => times[a * cpus + b],
            Self::Tiers { times, units } => {
                let units_of = |cpu: usize| &units[cpu * times.len()..][..times.len()];
                let shared = units_of(a).iter().zip(units_of(b)).position(|(a, b)| a == b);
                times[shared.expect("the last tier holds all CPUs")]
            }
        }
    }

    /// From tiers, innermost first, the last of which holds all CPUs.
    pub(super) fn from_tiers(tiers: &[Tier]) -> Self {
        let cpus = tiers.last().map_or(0, |tier| tier.cpus);
        let units =
            (0..cpus).flat_map(|cpu| tiers.iter().map(move |tier| (cpu / tier.cpus) as u32)).collect();
        Self::Tiers { times: tiers.iter().map(|tier| tier.one_way).collect(), units }
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
        let mut times = vec![Ns::ZERO; n * n];
        let mut by_relation: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut missing = Vec::new();
        for a in 0..n {
            for b in a + 1..n {
                match known(a, b) {
                    Some(ns) => {
                        (times[a * n + b], times[b * n + a]) = (Ns(ns), Ns(ns));
                        by_relation.entry(relation.distance(a, b)).or_default().push(ns);
                    }
                    None => missing.push((a, b)),
                }
            }
        }
        let medians: BTreeMap<usize, Ns> =
            by_relation.iter_mut().map(|(&key, ns)| (key, Ns(crate::stats::middle(ns)))).collect();
        let largest = medians.values().copied().fold(Ns(f64::NAN), Ns::max);
        for &(a, b) in &missing {
            let time = medians.get(&relation.distance(a, b)).copied().unwrap_or(largest);
            (times[a * n + b], times[b * n + a]) = (time, time);
        }
        (!medians.is_empty()).then_some((Self::Table { cpus: n, times }, missing.len()))
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
        let tiers = [(2, 10.0), (8, 50.0)].map(|(cpus, ns)| Tier { cpus, one_way: Ns(ns) });
        let latency = Latency::from_tiers(&tiers);
        let row: Vec<Ns> = (0..4).map(|cpu| latency.between(1, cpu)).collect();
        assert_eq!(row, [10.0, 0.0, 50.0, 50.0].map(Ns));
    }

    #[test]
    fn pairs_without_a_time_get_that_of_their_like() {
        let matrix = Matrix::parse("\n10\n90,\n,95,\n").unwrap();
        let levels = vec![vec![vec![0, 1], vec![2, 3]]];
        let (latency, missing) = Latency::from_matrix(&matrix, &[0, 1, 2, 3], &levels).unwrap();
        let time = |(a, b)| latency.between(a, b);
        assert_eq!([(0, 1), (0, 2), (1, 3)].map(time), [10.0, 90.0, 95.0].map(Ns));
        assert_eq!(([(2, 3), (3, 0)].map(time), missing), ([Ns(10.0), Ns(90.0)], 3));
    }

    #[test]
    fn groups_stand_at_the_corners_of_a_cube() {
        let mut ns = vec![f64::NAN; 64];
        (1..8).for_each(|cpu| ns[cpu] = 100.0 * (cpu as u32).count_ones() as f64);
        let matrix = Matrix::new((0..8).collect(), ns).unwrap();
        let alone = vec![(0..8).map(|cpu| vec![cpu]).collect()];
        let (latency, _) = Latency::from_matrix(&matrix, matrix.cpus(), &alone).unwrap();
        assert_eq!([2, 5, 4].map(|cpu| latency.between(3, cpu)), [100.0, 200.0, 300.0].map(Ns));
    }
}
