//! The order of CPUs by the machine's topology.

use coho_topology::{CpuSet, Level, Topology};

use super::Mapping;

/// What the machine is divided by, from the outside inwards.
fn inward() -> [Level; Level::OUTWARD.len()] {
    let mut levels = Level::OUTWARD;
    levels.reverse();
    levels
}

impl Mapping {
    /// The allowed CPUs in the order in which ranks take them.
    ///
    /// ```
    /// use coho_sync::Mapping;
    /// use coho_topology::{CpuSet, Topology, Unit};
    /// let module = |cpus: &str| Unit { id: None, cpus: cpus.parse().unwrap() };
    /// let topology = Topology { modules: vec![module("0-3"), module("4-7")], ..Topology::default() };
    /// let order = |mapping: Mapping| mapping.order(&topology, &CpuSet::up_to(8));
    /// assert_eq!(order(Mapping::Sequential), [0, 1, 2, 3, 4, 5, 6, 7]);
    /// assert_eq!(order(Mapping::BinaryTree), [0, 4, 2, 6, 1, 5, 3, 7]);
    /// ```
    pub fn order(self, topology: &Topology, allowed: &CpuSet) -> Vec<u32> {
        let mut rest = allowed.clone();
        let mut order = Vec::new();
        while !rest.is_empty() {
            // One hardware thread of each core that has one left.
            let mut turn = rest.clone();
            for core in topology.partition(Level::Core) {
                let mine = core.intersection(&turn);
                mine.iter().skip(1).for_each(|sibling| {
                    turn.remove(sibling);
                });
            }
            rest = rest.difference(&turn);
            let compact = compact(topology, turn.iter().collect(), &inward());
            order.extend(match self {
                Self::Sequential => compact,
                Self::BinaryTree => spread(&compact, |cpus| middle(topology, cpus)),
            });
        }
        order
    }
}

/// Sorts CPUs so that those that share something lie side by side.
fn compact(topology: &Topology, cpus: Vec<u32>, levels: &[Level]) -> Vec<u32> {
    let Some((&level, inner)) = levels.split_first() else { return cpus };
    let mut parts: Vec<(Option<usize>, Vec<u32>)> = Vec::new();
    let sets = topology.partition(level);
    for cpu in cpus {
        let object = sets.iter().position(|set| set.contains(cpu));
        match parts.iter_mut().find(|(of, _)| *of == object) {
            Some((_, cpus)) => cpus.push(cpu),
            None => parts.push((object, vec![cpu])),
        }
    }
    parts.into_iter().flat_map(|(_, cpus)| compact(topology, cpus, inner)).collect()
}

/// Takes CPUs from the two halves in turn, from each half in the same way.
fn spread(cpus: &[u32], middle: impl Fn(&[u32]) -> usize + Copy) -> Vec<u32> {
    if cpus.len() < 3 {
        return cpus.to_vec();
    }
    let (left, right) = cpus.split_at(middle(cpus));
    let (mut left, mut right) = (spread(left, middle).into_iter(), spread(right, middle).into_iter());
    let mut order = Vec::with_capacity(cpus.len());
    while left.len() + right.len() > 0 {
        order.extend(left.next());
        order.extend(right.next());
    }
    order
}

/// Where to halve CPUs that lie side by side: at the border of the outermost object that is nearest to the middle.
fn middle(topology: &Topology, cpus: &[u32]) -> usize {
    let half = cpus.len().div_ceil(2);
    for level in inward() {
        let sets = topology.partition(level);
        let object = |cpu: u32| sets.iter().position(|set| set.contains(cpu));
        let borders = (1..cpus.len()).filter(|&at| object(cpus[at - 1]) != object(cpus[at]));
        if let Some(border) = borders.min_by_key(|at| at.abs_diff(half)) {
            return border;
        }
    }
    half
}

#[cfg(test)]
mod tests {
    use coho_topology::Unit;

    use super::*;

    fn units(lists: &[&str]) -> Vec<Unit> {
        lists.iter().map(|list| Unit { id: None, cpus: list.parse().unwrap() }).collect()
    }

    #[test]
    fn siblings_come_last_and_packages_fill_one_by_one() {
        // Linux's usual numbering: packages interleaved, second threads at the end.
        let topology = Topology {
            packages: units(&["0,2,4,6", "1,3,5,7"]),
            cores: units(&["0,4", "1,5", "2,6", "3,7"]),
            ..Topology::default()
        };
        let all = CpuSet::up_to(8);
        assert_eq!(Mapping::Sequential.order(&topology, &all), [0, 2, 1, 3, 4, 6, 5, 7]);
        assert_eq!(Mapping::BinaryTree.order(&topology, &all), [0, 1, 2, 3, 4, 5, 6, 7]);
        let some: CpuSet = "3-6".parse().unwrap();
        assert_eq!(Mapping::Sequential.order(&topology, &some), [3, 5, 4, 6]);
        assert_eq!(Mapping::Sequential.order(&topology, &CpuSet::new()), Vec::<u32>::new());
    }

    #[test]
    fn the_paper_s_modules_of_pairs() {
        // Eight CPUs on two modules, an L2 to two CPUs.
        let mut topology = Topology { modules: units(&["0-3", "4-7"]), ..Topology::default() };
        for list in ["0-1", "2-3", "4-5", "6-7"] {
            let kind = coho_topology::CacheKind::Unified;
            let cpus = list.parse().unwrap();
            topology.caches.push(coho_topology::Cache {
                level: 2,
                kind,
                size_bytes: 0,
                line_bytes: None,
                ways: None,
                cpus,
            });
        }
        let order = Mapping::BinaryTree.order(&topology, &CpuSet::up_to(8));
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    #[test]
    fn every_cpu_once_on_any_topology() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut sets = || {
                let mut groups = vec![CpuSet::new(); random.usize(1..5)];
                for cpu in 0..24 {
                    let group = random.usize(..groups.len());
                    groups[group].insert(cpu);
                }
                groups.into_iter().map(|cpus| Unit { id: None, cpus }).collect::<Vec<_>>()
            };
            let topology =
                Topology { packages: sets(), modules: sets(), cores: sets(), ..Topology::default() };
            for mapping in [Mapping::Sequential, Mapping::BinaryTree] {
                let order = mapping.order(&topology, &CpuSet::up_to(24));
                assert_eq!((order.len(), CpuSet::from_iter(order)), (24, CpuSet::up_to(24)));
            }
        }
    }
}
