//! The events that the Arm architecture itself numbers (Arm Architecture Reference Manual, PMUv3: common events); a
//! core may lack some of them.

use super::{Entry, Microarchitecture, Term, entry};
use crate::Column::{
    Cycles, Inactive, Instructions, L1dMisses, L1dReferences, L1iMisses, L2Misses, L3Misses,
};

const fn common(name: &'static str, number: u64) -> Term {
    Term { name, config: number, config1: 0 }
}

const STALL: Entry = entry(Inactive, &[common("STALL", 0x3C)]);
const STALLS: Entry = entry(Inactive, &[common("STALL_FRONTEND", 0x23), common("STALL_BACKEND", 0x24)]);

pub(super) static ARMV8: Microarchitecture = Microarchitecture {
    name: "Armv8",
    entries: &[
        entry(L1dReferences, &[common("L1D_CACHE", 0x04)]),
        entry(L1dReferences, &[common("MEM_ACCESS", 0x13)]),
        entry(L1dMisses, &[common("L1D_CACHE_REFILL", 0x03)]),
        entry(L1iMisses, &[common("L1I_CACHE_REFILL", 0x01)]),
        entry(L2Misses, &[common("L2D_CACHE_REFILL", 0x17)]),
        entry(L3Misses, &[common("L3D_CACHE_REFILL", 0x2A)]),
        entry(L3Misses, &[common("LL_CACHE_MISS_RD", 0x37)]),
        entry(Instructions, &[common("INST_RETIRED", 0x08)]),
        STALL,
        STALLS,
        entry(Cycles, &[common("CPU_CYCLES", 0x11)]),
    ],
};
