//! What is counted, and on whose account.

use std::fmt;

/// A column of the paper's tables (paper 2): what an event stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Column {
    /// References to the level-1 data cache.
    L1dReferences,
    /// Lines that the level-1 data cache missed.
    L1dMisses,
    /// Lines that the level-1 instruction cache missed.
    L1iMisses,
    /// Lines that the level-2 cache missed.
    L2Misses,
    /// Lines that the last-level cache missed.
    L3Misses,
    /// Instructions retired.
    Instructions,
    /// Cycles in which nothing was executed.
    Inactive,
    /// Core cycles.
    Cycles,
}

impl Column {
    /// All columns, in the paper's order.
    pub const ALL: [Self; 8] = [
        Self::L1dReferences,
        Self::L1dMisses,
        Self::L1iMisses,
        Self::L2Misses,
        Self::L3Misses,
        Self::Instructions,
        Self::Inactive,
        Self::Cycles,
    ];

    /// The paper's name: `L1DR`, `L1DM`, `L1IM`, `L2M`, `L3M`, `INS`, `INACTIVE`, `CYCLE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L1dReferences => "L1DR",
            Self::L1dMisses => "L1DM",
            Self::L1iMisses => "L1IM",
            Self::L2Misses => "L2M",
            Self::L3Misses => "L3M",
            Self::Instructions => "INS",
            Self::Inactive => "INACTIVE",
            Self::Cycles => "CYCLE",
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An event as `perf_event_open` takes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    /// The maker's or the kernel's name.
    pub name: String,
    /// `perf_event_attr.type`: `PERF_TYPE_RAW`, `PERF_TYPE_HARDWARE`, …
    pub kind: u32,
    /// `perf_event_attr.config`: for raw events the code in the form of the CPU's event-select register.
    pub config: u64,
    /// `perf_event_attr.config1`: what some events need beside (off-core response).
    pub config1: u64,
}

/// In which mode of the CPU events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// In user mode only.
    User,
    /// In the kernel only; takes `perf_event_paranoid` below 2 or CAP_PERFMON.
    Kernel,
    /// In both.
    Both,
}
