//! AMD's events: the Processor Programming References, for the families before Zen the BIOS and Kernel Developer's
//! Guides.

use super::{Entry, Identity, Microarchitecture, Term, entry};
use crate::Column::{
    Cycles, Inactive, Instructions, L1dMisses, L1dReferences, L1iMisses, L2Misses, L3Misses,
};

pub(super) fn microarchitecture(identity: &Identity) -> Option<&'static Microarchitecture> {
    Some(match (identity.family, identity.model) {
        (0x10..=0x12, _) => &FAMILY_10H,
        (0x15, _) => &FAMILY_15H,
        // 0x18 is Hygon's Zen.
        (0x17, 0x00..=0x2F) | (0x18, _) => &ZEN,
        (0x17, _) => &ZEN_2,
        (0x19, 0x10..=0x1F | 0x60..=0xAF) => &ZEN_4,
        (0x19, _) => &ZEN_3,
        (0x1A, _) => &ZEN_5,
        _ => return None,
    })
}

const INSTRUCTIONS: Entry = entry(Instructions, &[Term::x86("retired instructions", 0xC0, 0x00)]);
const CYCLES: Entry = entry(Cycles, &[Term::x86("cycles not in halt", 0x76, 0x00)]);
/// AMD has no event for cycles without execution.
const NOTHING_RETIRED: Entry =
    entry(Inactive, &[Term::x86("retired instructions (none)", 0xC0, 0x00).absent()]);
const DC_ACCESSES: Entry = entry(L1dReferences, &[Term::x86("data cache accesses", 0x40, 0x00)]);
const LS_DISPATCH: Entry = entry(L1dReferences, &[Term::x86("loads and stores dispatched", 0x29, 0x07)]);

const L2_FROM_DC: Entry = entry(L1dMisses, &[Term::x86("L2 requests from the data cache", 0x60, 0xC8)]);
const L2_FROM_DC_SHARED: Entry =
    entry(L1dMisses, &[Term::x86("L2 requests from the data cache, shared too", 0x60, 0xE8)]);
const L2_FROM_IC: Entry =
    entry(L1iMisses, &[Term::x86("L2 requests from the instruction cache", 0x60, 0x10)]);
const IC_REFILLS: Entry = entry(
    L1iMisses,
    &[
        Term::x86("instruction cache refills from L2", 0x82, 0x00),
        Term::x86("instruction cache refills from the system", 0x83, 0x00),
    ],
);
const IC_TAG_MISS: Entry = entry(L1iMisses, &[Term::x86("instruction cache tag misses", 0x18E, 0x18)]);
const L2_MISS: Entry = entry(L2Misses, &[Term::x86("L2 misses of both L1 caches", 0x64, 0x09)]);

static ZEN: Microarchitecture = Microarchitecture {
    name: "Zen",
    entries: &[
        DC_ACCESSES,
        LS_DISPATCH,
        L2_FROM_DC,
        IC_REFILLS,
        L2_FROM_IC,
        L2_MISS,
        INSTRUCTIONS,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

static ZEN_2: Microarchitecture = Microarchitecture {
    name: "Zen 2",
    entries: &[
        DC_ACCESSES,
        LS_DISPATCH,
        L2_FROM_DC,
        IC_REFILLS,
        L2_FROM_IC,
        L2_MISS,
        entry(L3Misses, &[Term::x86("demand refills from DRAM or remote caches", 0x43, 0x58)]),
        INSTRUCTIONS,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

/// Fills of the data cache from anywhere outside the core complex: seen from the core, misses of its L3.
const FILLS_FROM_OUTSIDE: Entry =
    entry(L3Misses, &[Term::x86("data cache fills from outside the complex", 0x44, 0x5C)]);
const DEMAND_FILLS_FROM_OUTSIDE: Entry =
    entry(L3Misses, &[Term::x86("demand data cache fills from outside the complex", 0x43, 0x5C)]);

const ZEN_3_ENTRIES: &[Entry] = &[
    DC_ACCESSES,
    LS_DISPATCH,
    L2_FROM_DC,
    L2_FROM_DC_SHARED,
    entry(L1dMisses, &[Term::x86("miss buffers allocated", 0x41, 0x7F)]),
    IC_TAG_MISS,
    L2_FROM_IC,
    L2_MISS,
    FILLS_FROM_OUTSIDE,
    DEMAND_FILLS_FROM_OUTSIDE,
    INSTRUCTIONS,
    NOTHING_RETIRED,
    CYCLES,
];
static ZEN_3: Microarchitecture = Microarchitecture { name: "Zen 3", entries: ZEN_3_ENTRIES };
static ZEN_4: Microarchitecture = Microarchitecture { name: "Zen 4", entries: ZEN_3_ENTRIES };

static ZEN_5: Microarchitecture = Microarchitecture {
    name: "Zen 5",
    entries: &[
        LS_DISPATCH,
        L2_FROM_DC_SHARED,
        L2_FROM_DC,
        IC_TAG_MISS,
        L2_FROM_IC,
        L2_MISS,
        FILLS_FROM_OUTSIDE,
        DEMAND_FILLS_FROM_OUTSIDE,
        INSTRUCTIONS,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

// Before Zen.
const DC_MISSES_10H: Entry = entry(L1dMisses, &[Term::x86("data cache misses", 0x41, 0x00)]);
const DC_MISSES_15H: Entry = entry(L1dMisses, &[Term::x86("data cache misses", 0x41, 0x01)]);
const IC_MISSES: Entry = entry(L1iMisses, &[Term::x86("instruction cache misses", 0x81, 0x00)]);
const L2_CACHE_MISSES: Entry = entry(L2Misses, &[Term::x86("L2 misses of both L1 caches", 0x7E, 0x03)]);

static FAMILY_10H: Microarchitecture = Microarchitecture {
    name: "family 10h",
    entries: &[DC_ACCESSES, DC_MISSES_10H, IC_MISSES, L2_CACHE_MISSES, INSTRUCTIONS, NOTHING_RETIRED, CYCLES],
};

static FAMILY_15H: Microarchitecture = Microarchitecture {
    name: "family 15h",
    entries: &[DC_ACCESSES, DC_MISSES_15H, IC_MISSES, L2_CACHE_MISSES, INSTRUCTIONS, NOTHING_RETIRED, CYCLES],
};
