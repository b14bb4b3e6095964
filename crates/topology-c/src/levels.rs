//! The objects of each level.

use ::coho_topology::{CpuSet, Level};

use crate::status::coho_topology_status::*;
use crate::status::{fail, shielded, with};
use crate::{coho_topology, coho_topology_status, masks};

/// A level of a topology.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_level {
    /// Single CPUs (hardware threads).
    COHO_LEVEL_CPU = 0,
    /// Cores.
    COHO_LEVEL_CORE = 1,
    /// Compute units of several cores.
    COHO_LEVEL_MODULE = 2,
    /// Level-1 data caches.
    COHO_LEVEL_L1 = 3,
    /// Level-2 caches.
    COHO_LEVEL_L2 = 4,
    /// Level-3 caches.
    COHO_LEVEL_L3 = 5,
    /// Level-4 caches.
    COHO_LEVEL_L4 = 6,
    /// NUMA nodes, those without CPUs included.
    COHO_LEVEL_NUMA = 7,
    /// Dies, in packages of several.
    COHO_LEVEL_DIE = 8,
    /// Packages (sockets).
    COHO_LEVEL_PACKAGE = 9,
    /// Kinds of cores, on hybrid processors.
    COHO_LEVEL_KIND = 10,
}

use coho_level::*;

const LEVELS: [(coho_level, Level); 11] = [
    (COHO_LEVEL_CPU, Level::Pu),
    (COHO_LEVEL_CORE, Level::Core),
    (COHO_LEVEL_MODULE, Level::Module),
    (COHO_LEVEL_L1, Level::L1),
    (COHO_LEVEL_L2, Level::L2),
    (COHO_LEVEL_L3, Level::L3),
    (COHO_LEVEL_L4, Level::L4),
    (COHO_LEVEL_NUMA, Level::Numa),
    (COHO_LEVEL_DIE, Level::Die),
    (COHO_LEVEL_PACKAGE, Level::Package),
    (COHO_LEVEL_KIND, Level::Kind),
];

/// The CPUs of each object of a level; `None` if there is no such level.
fn objects(topology: &coho_topology, level: i32) -> Option<Vec<CpuSet>> {
    let (_, level) = LEVELS.into_iter().find(|(known, _)| *known as i32 == level)?;
    Some(match level {
        Level::Pu => topology.topology.pus.iter().map(|pu| [pu.os].into_iter().collect()).collect(),
        level => topology.topology.partition(level).into_iter().cloned().collect(),
    })
}

/// How many objects of a level (a `coho_level`) there are; 0 for a level that no source tells, for an unknown one and for
/// null.
///
/// # Safety
/// `topology` is null or a topology of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_count(topology: *const coho_topology, level: i32) -> usize {
    // SAFETY: as the caller promises.
    let Some(topology) = (unsafe { topology.as_ref() }) else { return 0 };
    objects(topology, level).map_or(0, |objects| objects.len())
}

/// Writes the CPUs of the `index`-th object of a level (a `coho_level`), in the order of their first CPUs, into `count`
/// words: bit `c % 64` of word `c / 64` is CPU `c`, as in a `cpu_set_t` of a little-endian machine. `*needed`, unless null, is
/// the number of words that it takes; with `words` null, nothing else is written.
///
/// # Safety
/// `topology` is null or a topology of this library, `words` is null or `count` words, `needed` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_cpuset(
    topology: *const coho_topology,
    level: i32,
    index: usize,
    words: *mut u64,
    count: usize,
    needed: *mut usize,
) -> coho_topology_status {
    let cpus = |topology: &coho_topology| {
        let Some(objects) = objects(topology, level) else {
            return fail(COHO_TOPOLOGY_INVALID, &format!("{level} is not a level"));
        };
        match objects.get(index) {
            // SAFETY: as the caller promises.
            Some(cpus) => unsafe { masks::give(cpus, words, count, needed) },
            None => {
                fail(COHO_TOPOLOGY_INVALID, &format!("there are {} objects of this level", objects.len()))
            }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(topology, cpus) }
}

/// Writes the online CPUs, as `coho_topology_cpuset` does.
///
/// # Safety
/// As of `coho_topology_cpuset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_cpus(
    topology: *const coho_topology,
    words: *mut u64,
    count: usize,
    needed: *mut usize,
) -> coho_topology_status {
    // SAFETY: as the caller promises.
    unsafe { with(topology, |topology| masks::give(&topology.topology.cpus(), words, count, needed)) }
}

/// Writes the level (a `coho_level`) of the smallest object that holds both CPUs into `*level`, by the claims;
/// `COHO_TOPOLOGY_UNKNOWN` if none does.
///
/// # Safety
/// `topology` is null or a topology of this library, and `level` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_shared(
    topology: *const coho_topology,
    a: u32,
    b: u32,
    level: *mut i32,
) -> coho_topology_status {
    // SAFETY: as the caller promises.
    let (Some(topology), Some(level)) = (unsafe { (topology.as_ref(), level.as_mut()) }) else {
        return fail(COHO_TOPOLOGY_INVALID, "there is no topology, or no place for the level");
    };
    shielded(|| {
        if [a, b].iter().any(|&cpu| topology.topology.pu(cpu).is_none()) {
            return fail(COHO_TOPOLOGY_INVALID, &format!("CPUs {a} and {b} are not both in the topology"));
        }
        let shared = if a == b { Some(Level::Pu) } else { topology.topology.closest_shared(a, b) };
        let known = shared.and_then(|shared| LEVELS.into_iter().find(|(_, known)| *known == shared));
        match known {
            Some((known, _)) => {
                *level = known as i32;
                COHO_TOPOLOGY_OK
            }
            None => fail(COHO_TOPOLOGY_UNKNOWN, &format!("no object holds CPUs {a} and {b}")),
        }
    })
}
