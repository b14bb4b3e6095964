//! Pairs of CPUs by how near they are.

use coho_topology::{CpuSet, Topology};

/// Name of the class of a CPU with itself.
pub(super) const SAME_CPU: &str = "same CPU";
/// The most pairs kept for a class: enough to choose from.
const MOST: usize = 4096;
/// How many CPUs are considered for pairs: on a large machine the others have the same classes.
const FIRST: usize = 64;

/// A class of pairs that the topology claims to be alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    /// `same CPU`, `core`, `L2`, `L3`, …, `system`.
    pub(super) name: String,
    pub(super) pairs: Vec<[u32; 2]>,
}

/// How near two CPUs are by the topology.
pub(super) fn class_of(topology: &Topology, a: u32, b: u32) -> String {
    if a == b { SAME_CPU.into() } else { topology.claimed(a, b) }
}

/// Every class that the allowed CPUs have, nearest first; a CPU with itself is the first of all.
pub(super) fn classes(topology: &Topology, allowed: &CpuSet) -> Vec<Class> {
    let cpus: Vec<u32> = allowed.iter().collect();
    let mut classes =
        vec![Class { name: SAME_CPU.into(), pairs: cpus.iter().map(|&cpu| [cpu, cpu]).take(MOST).collect() }];
    let mut nearness = vec![0];
    for (at, &a) in cpus.iter().enumerate().take(FIRST) {
        for &b in &cpus[at + 1..] {
            let name = class_of(topology, a, b);
            match classes.iter_mut().find(|class| class.name == name) {
                Some(class) if class.pairs.len() < MOST => class.pairs.push([a, b]),
                Some(_) => {}
                None => {
                    // The larger the object that both are in, the farther they are.
                    let size = crate::coherence::nearness(topology, a, b);
                    let place = nearness.partition_point(|&other| other <= size);
                    nearness.insert(place, size);
                    classes.insert(place, Class { name, pairs: vec![[a, b]] });
                }
            }
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use coho_topology::Unit;

    use super::*;

    #[test]
    fn every_class_is_found_nearest_first() {
        let units = |lists: &[&str]| -> Vec<Unit> {
            lists.iter().map(|list| Unit { id: None, cpus: list.parse().unwrap() }).collect()
        };
        // Two sockets of two cores of two threads.
        let topology = Topology {
            packages: units(&["0-3", "4-7"]),
            cores: units(&["0-1", "2-3", "4-5", "6-7"]),
            ..Topology::default()
        };
        let found = classes(&topology, &CpuSet::up_to(8));
        let counts: Vec<_> = found.iter().map(|class| (class.name.as_str(), class.pairs.len())).collect();
        assert_eq!(counts, [("same CPU", 8), ("core", 4), ("package", 8), ("system", 16)]);
        assert_eq!(classes(&topology, &CpuSet::up_to(1)).len(), 1);
    }
}
