//! The machine that the threads run on.

use coho_platform::CpuSet;

use crate::{BarrierBuilder, Mapping};

/// Orders the CPUs as ranks take them: by the mapping if the topology is known, otherwise by number.
pub(crate) fn order(mapping: Mapping, cpus: &CpuSet) -> Vec<u32> {
    #[cfg(feature = "topology")]
    if let Some(topology) = topology() {
        return mapping.order(topology, cpus);
    }
    let _ = mapping;
    cpus.iter().collect()
}

/// Gives a barrier the CPUs of its threads, with the topology if it is known.
pub(crate) fn place<'a>(barrier: BarrierBuilder<'a>, cpus: &'a [u32]) -> BarrierBuilder<'a> {
    #[cfg(feature = "topology")]
    if let Some(topology) = topology() {
        return barrier.places(topology, cpus);
    }
    barrier.cpus(cpus)
}

/// The machine's topology, read once; `None` if it cannot be read.
#[cfg(feature = "topology")]
fn topology() -> Option<&'static coho_topology::Topology> {
    use std::sync::OnceLock;
    static TOPOLOGY: OnceLock<Option<coho_topology::Topology>> = OnceLock::new();
    TOPOLOGY.get_or_init(|| coho_topology::detect().ok()).as_ref()
}
