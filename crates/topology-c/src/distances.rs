//! How far apart nodes are claimed to be, and CPUs were measured to be.

use crate::status::coho_topology_status::*;
use crate::status::fail;
use crate::{coho_topology, coho_topology_status};

/// Writes the distance that is claimed from one NUMA node to another (ACPI's SLIT: 10 within a node) into `*distance`; nodes
/// are named by their indices among `COHO_LEVEL_NUMA`. `COHO_TOPOLOGY_UNKNOWN` if the source claims none.
///
/// # Safety
/// `topology` is null or a topology of this library, and `distance` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_distance(
    topology: *const coho_topology,
    from: usize,
    to: usize,
    distance: *mut u32,
) -> coho_topology_status {
    // SAFETY: as the caller promises.
    let (Some(topology), Some(distance)) = (unsafe { (topology.as_ref(), distance.as_mut()) }) else {
        return fail(COHO_TOPOLOGY_INVALID, "there is no topology, or no place for the distance");
    };
    let nodes = &topology.topology.numa_nodes;
    if from >= nodes.len() || to >= nodes.len() {
        return fail(COHO_TOPOLOGY_INVALID, &format!("there are {} NUMA nodes", nodes.len()));
    }
    match nodes[from].distances.get(to) {
        Some(claimed) => {
            *distance = *claimed;
            COHO_TOPOLOGY_OK
        }
        None => fail(COHO_TOPOLOGY_UNKNOWN, "no distances of NUMA nodes are claimed"),
    }
}

/// Writes the time that was measured between two CPUs, the median of handing over a cache line in ns, into `*ns`. All are of
/// one method: strict alternation by compare-and-swap where that was measured. Only a topology that was loaded from a profile
/// has times; `COHO_TOPOLOGY_UNKNOWN` if it has none of these two.
///
/// # Safety
/// `topology` is null or a topology of this library, and `ns` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_time_ns(
    topology: *const coho_topology,
    a: u32,
    b: u32,
    ns: *mut f64,
) -> coho_topology_status {
    // SAFETY: as the caller promises.
    let (Some(topology), Some(ns)) = (unsafe { (topology.as_ref(), ns.as_mut()) }) else {
        return fail(COHO_TOPOLOGY_INVALID, "there is no topology, or no place for the time");
    };
    match topology.times_ns.get(&(a.min(b), a.max(b))) {
        Some(measured) => {
            *ns = *measured;
            COHO_TOPOLOGY_OK
        }
        None => fail(COHO_TOPOLOGY_UNKNOWN, &format!("no time between CPUs {a} and {b} was measured")),
    }
}
