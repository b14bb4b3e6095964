//! The order of CPUs by the machine's topology.

use coho_topology::{CpuSet, Level, Topology};

use super::{Mapping, Objects};

/// The levels that divide the machine, from the outside inwards.
fn inward() -> [Level; Level::OUTWARD.len()] {
    let mut levels = Level::OUTWARD;
    levels.reverse();
    levels
}

impl Mapping {
    /// The allowed CPUs in the order in which ranks take them: [`arrange`](Self::arrange) with the levels of the
    /// topology.
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
        let cpus: Vec<u32> = allowed.iter().collect();
        let objects = |level: Level| -> Objects {
            let mut objects = vec![None; cpus.len()];
            for (at, set) in topology.partition(level).iter().enumerate() {
                for cpu in set.iter() {
                    if let Ok(index) = cpus.binary_search(&cpu) {
                        objects[index].get_or_insert(at);
                    }
                }
            }
            objects
        };
        let order = self.arrange(&objects(Level::Core), &inward().map(objects));
        order.into_iter().map(|index| cpus[index]).collect()
    }
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
