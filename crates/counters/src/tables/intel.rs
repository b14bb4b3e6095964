//! Intel's events: Software Developer's Manual, volume 3, and the event lists that Intel publishes per generation.

use super::{Entry, Identity, Microarchitecture, Term, entry};
use crate::Column::{
    Cycles, Inactive, Instructions, L1dMisses, L1dReferences, L1iMisses, L2Misses, L3Misses,
};

/// The tables for a CPU; the generation that AMX reveals comes before the one that the model number claims, since a
/// hypervisor can hide an extension but not add one.
pub(super) fn microarchitectures(identity: &Identity) -> Vec<&'static Microarchitecture> {
    let claimed = claimed(identity);
    let betrayed = (identity.amx && !claimed.is_some_and(has_amx)).then_some(&SAPPHIRE_RAPIDS);
    betrayed.into_iter().chain(claimed).collect()
}

/// Whether AMX exists in CPUs of this generation.
fn has_amx(microarchitecture: &Microarchitecture) -> bool {
    [&SAPPHIRE_RAPIDS, &GRANITE_RAPIDS].iter().any(|amx| amx.name == microarchitecture.name)
}

/// What the model number says.
fn claimed(identity: &Identity) -> Option<&'static Microarchitecture> {
    if identity.family != 6 {
        return None;
    }
    Some(match identity.model {
        0x1A | 0x1E | 0x1F | 0x2E => &NEHALEM,
        0x25 | 0x2C | 0x2F => &WESTMERE,
        0x2A | 0x2D => &SANDY_BRIDGE,
        0x3A | 0x3E => &IVY_BRIDGE,
        0x3C | 0x3F | 0x45 | 0x46 => &HASWELL,
        0x3D | 0x47 | 0x4F | 0x56 => &BROADWELL,
        0x4E | 0x55 | 0x5E | 0x8E | 0x9E | 0xA5 | 0xA6 => &SKYLAKE,
        0x6A | 0x6C | 0x7D | 0x7E => &ICE_LAKE,
        0x8C | 0x8D => &TIGER_LAKE,
        0xA7 => &ROCKET_LAKE,
        0x8F | 0xCF => &SAPPHIRE_RAPIDS,
        0xAD | 0xAE => &GRANITE_RAPIDS,
        // Alder Lake, Raptor Lake.
        0x97 | 0x9A | 0xB7 | 0xBA | 0xBF if !identity.efficient => &GOLDEN_COVE,
        0x97 | 0x9A | 0xB7 | 0xBA | 0xBF | 0xBE => &GRACEMONT,
        // Meteor Lake; Sierra Forest and Grand Ridge, which have only small cores.
        0xAA | 0xAC if !identity.efficient => &REDWOOD_COVE,
        0xAA | 0xAC | 0xAF | 0xB6 => &CRESTMONT,
        // Lunar Lake, Arrow Lake.
        0xBD | 0xC5 | 0xC6 | 0xB5 if !identity.efficient => &LION_COVE,
        0xBD | 0xC5 | 0xC6 | 0xB5 => &SKYMONT,
        _ => return None,
    })
}

// The architectural events, which every generation here has.
const INSTRUCTIONS: Entry = entry(Instructions, &[Term::x86("INST_RETIRED.ANY_P", 0xC0, 0x00)]);
const CYCLES: Entry = entry(Cycles, &[Term::x86("CPU_CLK_UNHALTED.THREAD_P", 0x3C, 0x00)]);
const LLC_MISSES: Entry = entry(L3Misses, &[Term::x86("LONGEST_LAT_CACHE.MISS", 0x2E, 0x41)]);
const NOTHING_RETIRED: Entry =
    entry(Inactive, &[Term::x86("INST_RETIRED.ANY_P (none)", 0xC0, 0x00).absent()]);

const L1D_REPLACEMENT: Entry = entry(L1dMisses, &[Term::x86("L1D.REPLACEMENT", 0x51, 0x01)]);
const ICACHE_MISSES: Entry = entry(L1iMisses, &[Term::x86("ICACHE.MISSES", 0x80, 0x02)]);
const IFTAG_MISS: Entry = entry(L1iMisses, &[Term::x86("ICACHE_64B.IFTAG_MISS", 0x83, 0x02)]);
const CODE_READS: Entry = entry(L1iMisses, &[Term::x86("L2_RQSTS.ALL_CODE_RD", 0x24, 0xE4)]);
const L1I_MISS_RETIRED: Entry =
    entry(L1iMisses, &[Term::x86("FRONTEND_RETIRED.L1I_MISS", 0xC6, 0x01).with_config1(0x12)]);
const L2_MISS: Entry = entry(L2Misses, &[Term::x86("L2_RQSTS.MISS", 0x24, 0x3F)]);
const L2_DEMAND_MISS: Entry = entry(L2Misses, &[Term::x86("L2_RQSTS.ALL_DEMAND_MISS", 0x24, 0x27)]);
const MEM_UOPS_RETIRED: Entry = entry(
    L1dReferences,
    &[
        Term::x86("MEM_UOPS_RETIRED.ALL_LOADS", 0xD0, 0x81),
        Term::x86("MEM_UOPS_RETIRED.ALL_STORES", 0xD0, 0x82),
    ],
);
const MEM_INST_RETIRED: Entry = entry(
    L1dReferences,
    &[
        Term::x86("MEM_INST_RETIRED.ALL_LOADS", 0xD0, 0x81),
        Term::x86("MEM_INST_RETIRED.ALL_STORES", 0xD0, 0x82),
    ],
);
const NOTHING_EXECUTED: Entry = entry(Inactive, &[Term::x86("UOPS_EXECUTED.STALLS", 0xB1, 0x01).absent()]);

// Nehalem and Westmere: the paper's own events, as far as Westmere still has them.
const NEHALEM_LOADS_AND_STORES: Entry = entry(
    L1dReferences,
    &[Term::x86("MEM_INST_RETIRED.LOADS", 0x0B, 0x01), Term::x86("MEM_INST_RETIRED.STORES", 0x0B, 0x02)],
);
const L1D_REPL: Entry = entry(L1dMisses, &[Term::x86("L1D.REPL", 0x51, 0x01)]);
const L1I_MISSES: Entry = entry(L1iMisses, &[Term::x86("L1I.MISSES", 0x80, 0x02)]);
const NEHALEM_L2_MISS: Entry = entry(L2Misses, &[Term::x86("L2_RQSTS.MISS", 0x24, 0xAA)]);
const CORE_STALL_CYCLES: Entry =
    entry(Inactive, &[Term::x86("UOPS_EXECUTED.CORE_STALL_CYCLES", 0xB1, 0x3F).any_thread().absent()]);

static NEHALEM: Microarchitecture = Microarchitecture {
    name: "Nehalem",
    entries: &[
        entry(L1dReferences, &[Term::x86("L1D_ALL_REF.ANY", 0x43, 0x01)]),
        NEHALEM_LOADS_AND_STORES,
        L1D_REPL,
        L1I_MISSES,
        NEHALEM_L2_MISS,
        LLC_MISSES,
        INSTRUCTIONS,
        CORE_STALL_CYCLES,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

static WESTMERE: Microarchitecture = Microarchitecture {
    name: "Westmere",
    entries: &[
        NEHALEM_LOADS_AND_STORES,
        L1D_REPL,
        L1I_MISSES,
        NEHALEM_L2_MISS,
        LLC_MISSES,
        INSTRUCTIONS,
        CORE_STALL_CYCLES,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

/// Sandy and Ivy Bridge do not count L2 misses as such, but lines brought into the L2.
const L2_LINES_IN: Entry = entry(L2Misses, &[Term::x86("L2_LINES_IN.ALL", 0xF1, 0x07)]);

static SANDY_BRIDGE: Microarchitecture = Microarchitecture {
    name: "Sandy Bridge",
    entries: &[
        MEM_UOPS_RETIRED,
        L1D_REPLACEMENT,
        ICACHE_MISSES,
        L2_LINES_IN,
        LLC_MISSES,
        INSTRUCTIONS,
        entry(Inactive, &[Term::x86("UOPS_DISPATCHED.THREAD (none)", 0xB1, 0x01).absent()]),
        NOTHING_RETIRED,
        CYCLES,
    ],
};

static IVY_BRIDGE: Microarchitecture = Microarchitecture {
    name: "Ivy Bridge",
    entries: &[
        MEM_UOPS_RETIRED,
        L1D_REPLACEMENT,
        ICACHE_MISSES,
        L2_LINES_IN,
        LLC_MISSES,
        INSTRUCTIONS,
        NOTHING_EXECUTED,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

const HASWELL_ENTRIES: &[Entry] = &[
    MEM_UOPS_RETIRED,
    L1D_REPLACEMENT,
    ICACHE_MISSES,
    CODE_READS,
    L2_MISS,
    L2_DEMAND_MISS,
    LLC_MISSES,
    INSTRUCTIONS,
    NOTHING_EXECUTED,
    NOTHING_RETIRED,
    CYCLES,
];
static HASWELL: Microarchitecture = Microarchitecture { name: "Haswell", entries: HASWELL_ENTRIES };
static BROADWELL: Microarchitecture = Microarchitecture { name: "Broadwell", entries: HASWELL_ENTRIES };

static SKYLAKE: Microarchitecture = Microarchitecture {
    name: "Skylake",
    entries: &[
        MEM_INST_RETIRED,
        L1D_REPLACEMENT,
        IFTAG_MISS,
        CODE_READS,
        L1I_MISS_RETIRED,
        L2_MISS,
        L2_DEMAND_MISS,
        LLC_MISSES,
        INSTRUCTIONS,
        NOTHING_EXECUTED,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

/// Sunny and Cypress Cove: Intel's list has no L2_RQSTS.MISS for them.
const SUNNY_COVE_ENTRIES: &[Entry] = &[
    MEM_INST_RETIRED,
    L1D_REPLACEMENT,
    IFTAG_MISS,
    CODE_READS,
    L1I_MISS_RETIRED,
    L2_DEMAND_MISS,
    LLC_MISSES,
    INSTRUCTIONS,
    NOTHING_EXECUTED,
    NOTHING_RETIRED,
    CYCLES,
];
static ICE_LAKE: Microarchitecture = Microarchitecture { name: "Ice Lake", entries: SUNNY_COVE_ENTRIES };
static ROCKET_LAKE: Microarchitecture =
    Microarchitecture { name: "Rocket Lake", entries: SUNNY_COVE_ENTRIES };

static TIGER_LAKE: Microarchitecture = Microarchitecture {
    name: "Tiger Lake",
    entries: &[
        MEM_INST_RETIRED,
        L1D_REPLACEMENT,
        IFTAG_MISS,
        CODE_READS,
        L1I_MISS_RETIRED,
        L2_MISS,
        LLC_MISSES,
        INSTRUCTIONS,
        NOTHING_EXECUTED,
        NOTHING_RETIRED,
        CYCLES,
    ],
};

/// From Golden Cove on, the instruction cache's own event counts stalled cycles; its misses appear as the L2's code
/// reads.
const GOLDEN_COVE_ENTRIES: &[Entry] = &[
    MEM_INST_RETIRED,
    L1D_REPLACEMENT,
    CODE_READS,
    L1I_MISS_RETIRED,
    L2_MISS,
    L2_DEMAND_MISS,
    LLC_MISSES,
    INSTRUCTIONS,
    NOTHING_EXECUTED,
    NOTHING_RETIRED,
    CYCLES,
];
static GOLDEN_COVE: Microarchitecture =
    Microarchitecture { name: "Golden Cove", entries: GOLDEN_COVE_ENTRIES };
static SAPPHIRE_RAPIDS: Microarchitecture =
    Microarchitecture { name: "Sapphire Rapids", entries: GOLDEN_COVE_ENTRIES };

/// The events of Golden Cove that its successor is known to have kept.
const REDWOOD_COVE_ENTRIES: &[Entry] =
    &[MEM_INST_RETIRED, CODE_READS, LLC_MISSES, INSTRUCTIONS, NOTHING_RETIRED, CYCLES];
static REDWOOD_COVE: Microarchitecture =
    Microarchitecture { name: "Redwood Cove", entries: REDWOOD_COVE_ENTRIES };
static GRANITE_RAPIDS: Microarchitecture =
    Microarchitecture { name: "Granite Rapids", entries: REDWOOD_COVE_ENTRIES };

static LION_COVE: Microarchitecture = Microarchitecture {
    name: "Lion Cove",
    entries: &[MEM_INST_RETIRED, LLC_MISSES, INSTRUCTIONS, NOTHING_RETIRED, CYCLES],
};

/// The small cores: L2 misses are the requests that reach the last-level cache.
const LLC_REFERENCES: Entry = entry(L2Misses, &[Term::x86("LONGEST_LAT_CACHE.REFERENCE", 0x2E, 0x4F)]);
const GRACEMONT_ENTRIES: &[Entry] =
    &[MEM_UOPS_RETIRED, ICACHE_MISSES, LLC_REFERENCES, LLC_MISSES, INSTRUCTIONS, NOTHING_RETIRED, CYCLES];
static GRACEMONT: Microarchitecture = Microarchitecture { name: "Gracemont", entries: GRACEMONT_ENTRIES };
static CRESTMONT: Microarchitecture = Microarchitecture { name: "Crestmont", entries: GRACEMONT_ENTRIES };
static SKYMONT: Microarchitecture = Microarchitecture {
    name: "Skymont",
    entries: &[MEM_UOPS_RETIRED, LLC_REFERENCES, LLC_MISSES, INSTRUCTIONS, NOTHING_RETIRED, CYCLES],
};
