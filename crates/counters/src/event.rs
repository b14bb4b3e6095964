//! What is counted, and in which mode.

use std::fmt;

use perf_event_open_sys::bindings as sys;

/// A column of the paper's tables (Shimosawa, Hori & Ishikawa): what an event stands for.
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
    /// `perf_event_attr.config`: for raw events the code in the form of the CPU's event-select register; for
    /// breakpoints their type.
    pub config: u64,
    /// `perf_event_attr.config1`: what some events need in addition (off-core response); for breakpoints the address.
    pub config1: u64,
}

impl Event {
    /// One of the kernel's general hardware events: `PERF_COUNT_HW_CPU_CYCLES`.
    pub fn cycles() -> Self {
        Self::of("cycles", sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES)
    }

    /// One of the kernel's general hardware events: `PERF_COUNT_HW_INSTRUCTIONS`.
    pub fn instructions() -> Self {
        Self::of("instructions", sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_INSTRUCTIONS)
    }

    /// A software event: page faults of the thread.
    pub fn page_faults() -> Self {
        Self::of("page-faults", sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_PAGE_FAULTS)
    }

    /// A software event: context switches of the thread, which happen in the kernel.
    pub fn context_switches() -> Self {
        Self::of("context-switches", sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CONTEXT_SWITCHES)
    }

    /// A software event: moves of the thread from one CPU to another, which happen in the kernel.
    pub fn cpu_migrations() -> Self {
        Self::of("cpu-migrations", sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_MIGRATIONS)
    }

    /// A software event that never counts; it shows what opening and reading an event costs, without a PMU.
    pub fn dummy() -> Self {
        Self::of("dummy", sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_DUMMY)
    }

    /// How often the instruction at an address is executed, counted by a hardware breakpoint: exact, and without a PMU.
    /// Each execution costs an exception.
    pub fn executions(of: *const ()) -> Self {
        let mut event = Self::of("executions", sys::PERF_TYPE_BREAKPOINT, sys::HW_BREAKPOINT_X);
        event.config1 = of as u64;
        event
    }

    /// Whether this counts retired instructions, possibly under conditions (`cmask`, `inv`). Hypervisors emulate this
    /// count at every exit, which makes exits more expensive while it is live, so it needs a pass of its own.
    pub fn counts_instructions(&self) -> bool {
        const CODE: u64 = if cfg!(target_arch = "x86_64") { 0xC0 } else { 0x08 };
        match self.kind {
            sys::PERF_TYPE_HARDWARE => self.config as u32 == sys::PERF_COUNT_HW_INSTRUCTIONS,
            sys::PERF_TYPE_RAW => self.config & 0xF_0000_FFFF == CODE,
            _ => false,
        }
    }

    /// Whether it needs a hardware counter.
    pub(crate) fn needs_hardware(&self) -> bool {
        !matches!(self.kind, sys::PERF_TYPE_SOFTWARE | sys::PERF_TYPE_TRACEPOINT | sys::PERF_TYPE_BREAKPOINT)
    }

    fn of(name: &str, kind: u32, config: u32) -> Self {
        Self { name: name.into(), kind, config: config.into(), config1: 0 }
    }
}

/// In which mode of the CPU events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// In user mode only.
    User,
    /// In the kernel only; needs `perf_event_paranoid` below 2 or CAP_PERFMON.
    Kernel,
    /// In both.
    Both,
}
