//! Perf's generic events (`linux/perf_event.h`): the kernel chooses what they are on a CPU, and does not always choose
//! an event that counts.

use super::{Candidate, Identity, PERF_TYPE_RAW, Vendor};
use crate::{Column, Event};

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_TYPE_HW_CACHE: u32 = 3;

const L1D: u64 = 0;
const L1I: u64 = 1;
const LL: u64 = 2;
const READ: u64 = 0;
const WRITE: u64 = 1;
const ACCESS: u64 = 0;
const MISS: u64 = 1;

type Generic = (&'static str, u32, u64);

const fn hardware(name: &'static str, number: u64) -> Generic {
    (name, PERF_TYPE_HARDWARE, number)
}

const fn cache(name: &'static str, cache: u64, operation: u64, result: u64) -> Generic {
    (name, PERF_TYPE_HW_CACHE, cache | operation << 8 | result << 16)
}

const CPU_CYCLES: Generic = hardware("cpu-cycles", 0);
const INSTRUCTIONS: Generic = hardware("instructions", 1);
const CACHE_MISSES: Generic = hardware("cache-misses", 3);
const STALLED_CYCLES: Generic = hardware("stalled-cycles-backend", 8);
const L1D_LOADS: Generic = cache("L1-dcache-loads", L1D, READ, ACCESS);
const L1D_STORES: Generic = cache("L1-dcache-stores", L1D, WRITE, ACCESS);
const L1D_LOAD_MISSES: Generic = cache("L1-dcache-load-misses", L1D, READ, MISS);
const L1I_LOAD_MISSES: Generic = cache("L1-icache-load-misses", L1I, READ, MISS);
const LLC_LOAD_MISSES: Generic = cache("LLC-load-misses", LL, READ, MISS);

/// Whether events of this `perf_event_attr.type` are the kernel's, so that their numbers mean nothing to a reader.
pub(super) fn is_generic(kind: u32) -> bool {
    kind < PERF_TYPE_RAW
}

pub(super) fn candidates(identity: &Identity, column: Column) -> impl Iterator<Item = Candidate> {
    // With two kinds of cores, the kernel counts on the first unless the number says which PMU is meant.
    let pmu = if identity.vendor == Vendor::Intel && identity.raw_kind != PERF_TYPE_RAW {
        u64::from(identity.raw_kind) << 32
    } else {
        0
    };
    let event = move |&(name, kind, config): &Generic| Event {
        name: format!("perf {name}"),
        kind,
        config: config | pmu,
        config1: 0,
    };
    let sums: &[&[Generic]] = match column {
        Column::L1dReferences => &[&[L1D_LOADS, L1D_STORES], &[L1D_LOADS]],
        Column::L1dMisses => &[&[L1D_LOAD_MISSES]],
        Column::L1iMisses => &[&[L1I_LOAD_MISSES]],
        // On AMD's CPUs since Zen these are the misses of the L2.
        Column::L2Misses => &[&[CACHE_MISSES]],
        Column::L3Misses => &[&[LLC_LOAD_MISSES], &[CACHE_MISSES]],
        Column::Instructions => &[&[INSTRUCTIONS]],
        Column::Inactive => &[&[STALLED_CYCLES]],
        Column::Cycles => &[&[CPU_CYCLES]],
    };
    sums.iter().map(move |sum| Candidate { events: sum.iter().map(event).collect() })
}
