//! The C interface of `coho-topology`: `include/coho_topology.h`.
//!
//! A topology is detected or read from a file, and asked for the objects of a level, their CPUs, caches and distances. One
//! that is read from a profile also has the times between its CPUs that were measured.
#![warn(missing_docs)]
#![allow(non_camel_case_types, reason = "the names in C")]

mod caches;
mod distances;
mod levels;
mod masks;
mod status;

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ::coho_topology::Topology;
use coho_profile::{Coherence, read_text};
use serde::Deserialize;

pub use caches::{
    coho_cache, coho_cache_kind, coho_topology_cache, coho_topology_cache_count, coho_topology_cache_cpus,
};
pub use distances::{coho_topology_distance, coho_topology_time_ns};
pub use levels::{
    coho_level, coho_topology_count, coho_topology_cpus, coho_topology_cpuset, coho_topology_shared,
};
use status::coho_topology_status::*;
pub use status::{coho_topology_last_error, coho_topology_status, coho_topology_status_text};
use status::{fail, shielded};

/// A machine's topology. Threads may share it; it does not change.
pub struct coho_topology {
    topology: Topology,
    /// One-way times in ns by the two CPUs, the smaller first.
    times_ns: BTreeMap<(u32, u32), f64>,
}

impl From<Topology> for coho_topology {
    fn from(topology: Topology) -> Self {
        Self { topology, times_ns: BTreeMap::new() }
    }
}

/// Reads this machine's topology from sysfs and CPUID into `*out`; free it by `coho_topology_free`.
///
/// # Safety
/// `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_detect(out: *mut *mut coho_topology) -> coho_topology_status {
    shielded(|| {
        let detected = ::coho_topology::detect().map(coho_topology::from);
        // SAFETY: as the caller promises.
        unsafe { hand_out(out, detected.map_err(|error| error.to_string())) }
    })
}

/// Reads a topology from a file: a profile of coho's, which also has the times between CPUs, hwloc's XML, a CPUID dump, a
/// copied sysfs tree, or FreeBSD's `kern.sched.topology_spec`.
///
/// # Safety
/// `path` is null or a string, and `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_load(
    path: *const c_char,
    out: *mut *mut coho_topology,
) -> coho_topology_status {
    if path.is_null() {
        return fail(COHO_TOPOLOGY_INVALID, "no path was given");
    }
    shielded(|| {
        // SAFETY: as the caller promises.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        // SAFETY: as the caller promises.
        unsafe { hand_out(out, load(path)) }
    })
}

/// The section of a profile that matters here: the code of the others would be most of this library.
#[derive(Default, Deserialize)]
struct Measured {
    coherence: Option<Coherence>,
}

fn load(path: &Path) -> Result<coho_topology, String> {
    let loaded = ::coho_topology::load(path).map_err(|error| error.to_string())?;
    // What is no profile has no times.
    let text = if path.is_file() { read_text(path).ok() } else { None };
    let profile: Measured = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let coherence = profile.coherence.unwrap_or_default();
    // Of one method: what others count is something else.
    let method = coherence.times().map(|(_, _, method, ..)| method).min();
    let mut times_ns = BTreeMap::new();
    for (a, b, _, _, ns) in coherence.times().filter(|(_, _, of, ..)| Some(*of) == method) {
        times_ns.entry((a.min(b), a.max(b))).or_insert(ns);
    }
    Ok(coho_topology { topology: loaded.topology, times_ns })
}

/// Frees a topology; null is allowed.
///
/// # Safety
/// `topology` is null, or comes from this library, was not freed, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_topology_free(topology: *mut coho_topology) {
    if !topology.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(topology) });
    }
}

/// # Safety
/// `out` is null or can be written.
unsafe fn hand_out(
    out: *mut *mut coho_topology,
    made: Result<coho_topology, String>,
) -> coho_topology_status {
    match made {
        _ if out.is_null() => fail(COHO_TOPOLOGY_INVALID, "there is no place for the topology"),
        Err(why) => fail(COHO_TOPOLOGY_UNREADABLE, &why),
        Ok(topology) => {
            // SAFETY: as the caller promises.
            unsafe { out.write(Box::into_raw(Box::new(topology))) };
            COHO_TOPOLOGY_OK
        }
    }
}
