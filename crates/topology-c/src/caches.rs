//! Caches.

use std::mem::offset_of;

use ::coho_topology::CacheKind;

use crate::status::coho_topology_status::*;
use crate::status::{fail, with};
use crate::{coho_topology, coho_topology_status, masks};

/// What a cache holds.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_cache_kind {
    /// Data only.
    COHO_CACHE_DATA = 0,
    /// Instructions only.
    COHO_CACHE_INSTRUCTION = 1,
    /// Both.
    COHO_CACHE_UNIFIED = 2,
}

use coho_cache_kind::*;

/// A cache. Set `size` before the call: `coho_cache cache = {sizeof cache};`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct coho_cache {
    /// The size of this structure as the program was compiled. Only fields within it are written, and those that the library
    /// does not know become zero.
    pub size: usize,
    /// 1 for L1.
    pub level: i32,
    /// A `coho_cache_kind`.
    pub kind: i32,
    /// Capacity in bytes; 0 if the source does not give it.
    pub bytes: u64,
    /// The size of a line in bytes; 0 if the source does not give it.
    pub line_bytes: u32,
    /// Associativity in ways; 0 means fully associative, `UINT32_MAX` that the source does not give it.
    pub ways: u32,
}

/// The size of the structure in the first version.
const LEAST: usize = offset_of!(coho_cache, ways) + size_of::<u32>();

/// How many caches there are, of all levels and kinds; 0 for null.
///
/// # Safety
/// `topology` is null or a topology of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_cache_count(topology: *const coho_topology) -> usize {
    // SAFETY: as the caller promises.
    unsafe { topology.as_ref() }.map_or(0, |topology| topology.topology.caches.len())
}

/// Describes the `index`-th cache.
///
/// # Safety
/// `topology` is null or a topology of this library, and `out` is null or as many bytes as its `size` says, which can be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_cache(
    topology: *const coho_topology,
    index: usize,
    out: *mut coho_cache,
) -> coho_topology_status {
    // SAFETY: as the caller promises.
    let Some(topology) = (unsafe { topology.as_ref() }) else {
        return fail(COHO_TOPOLOGY_INVALID, "there is no topology");
    };
    let Some(cache) = topology.topology.caches.get(index).filter(|_| !out.is_null()) else {
        return fail(COHO_TOPOLOGY_INVALID, "there is no such cache, or no place for it");
    };
    // SAFETY: as the caller promises; all versions have the size.
    let size = unsafe { (&raw const (*out).size).read() };
    if !(LEAST..=4096).contains(&size) {
        return fail(COHO_TOPOLOGY_INVALID, &format!("a cache of {size} bytes"));
    }
    let known = coho_cache {
        size,
        level: cache.level.into(),
        kind: match cache.kind {
            CacheKind::Data => COHO_CACHE_DATA as i32,
            CacheKind::Instruction => COHO_CACHE_INSTRUCTION as i32,
            CacheKind::Unified => COHO_CACHE_UNIFIED as i32,
        },
        bytes: cache.size_bytes,
        line_bytes: cache.line_bytes.unwrap_or(0),
        ways: cache.ways.unwrap_or(u32::MAX),
    };
    // SAFETY: as many bytes can be written as the size says; the structure has no padding within its first version.
    unsafe {
        out.cast::<u8>().write_bytes(0, size);
        std::ptr::copy_nonoverlapping(
            (&raw const known).cast::<u8>(),
            out.cast(),
            size.min(size_of::<coho_cache>()),
        );
    }
    COHO_TOPOLOGY_OK
}

/// Writes the CPUs that share the `index`-th cache, as `coho_topology_cpuset` does.
///
/// # Safety
/// As of `coho_topology_cpuset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_cache_cpus(
    topology: *const coho_topology,
    index: usize,
    words: *mut u64,
    count: usize,
    needed: *mut usize,
) -> coho_topology_status {
    let cpus = |topology: &coho_topology| match topology.topology.caches.get(index) {
        // SAFETY: as the caller promises.
        Some(cache) => unsafe { masks::give(&cache.cpus, words, count, needed) },
        None => fail(COHO_TOPOLOGY_INVALID, "there is no such cache"),
    };
    // SAFETY: as the caller promises.
    unsafe { with(topology, cpus) }
}
