//! How near two CPUs are.

use coho_topology::{CpuSet, Topology};

/// How near two CPUs are by the topology: the number of CPUs in the smallest object that holds both.
pub(crate) fn nearness(topology: &Topology, a: u32, b: u32) -> usize {
    topology.closest_shared(a, b).map_or(usize::MAX, |level| {
        let holds = |set: &&&CpuSet| set.contains(a) && set.contains(b);
        topology.partition(level).iter().find(holds).map_or(0, |set| set.len())
    })
}
