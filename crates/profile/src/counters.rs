//! What reading a counter costs, and which events count correctly: section `counters`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, lower, parameters};
use crate::{Estimate, Method};

/// The price of user-level counters (Shimosawa, Hori & Ishikawa, Table 4), the events that may be used and the clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Counters {
    /// How it was measured.
    pub method: Method,
    /// What a start, a stop or a read costs with each tool.
    pub tools: Vec<CounterTool>,
    /// The instruction that reads a counter in user mode.
    pub rdpmc: Rdpmc,
    /// The events tried, and whether each counted what a known piece of work must cause.
    pub events: Vec<EventTest>,
    /// What CPUID costs, in ns. Under a hypervisor it always causes an exit.
    pub cpuid_ns: Option<Estimate>,
    /// What two readings of the clock with nothing between them cost, in ns.
    pub empty_ns: Option<Estimate>,
    /// The clock that times everything.
    pub clock: Option<ClockFacts>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Counters);

/// What one operation of one tool costs (a row of the paper's Table 4).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CounterTool {
    /// Tool and operation, as in `user-level read` or `PAPI_read`.
    pub name: String,
    /// What the operation does in user mode.
    pub user: Counts,
    /// What the operation does in the kernel.
    pub kernel: Counts,
    /// How often the operation enters the kernel, determined without counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_entries: Option<f64>,
    /// Time of the operation, in ns.
    pub ns: Option<Estimate>,
    /// Why figures are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// Events of one operation, under the paper's names; `null` where an event was not counted, with the reason in
/// `not_available`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[allow(non_snake_case)]
pub struct Counts {
    /// References to the level-1 data cache.
    pub L1DR: Option<Estimate>,
    /// Lines that missed in the level-1 data cache.
    pub L1DM: Option<Estimate>,
    /// Lines that missed in the level-1 instruction cache.
    pub L1IM: Option<Estimate>,
    /// Lines that missed in the level-2 cache.
    pub L2M: Option<Estimate>,
    /// Lines that missed in the last-level cache.
    pub L3M: Option<Estimate>,
    /// Instructions retired.
    pub INS: Option<Estimate>,
    /// Core cycles.
    pub CYCLE: Option<Estimate>,
    /// Share of the cycles in which nothing was executed, 0 to 1 (Shimosawa, Hori & Ishikawa: INACTIVE / CYCLE).
    /// For Table 4, where the paper prints cycles, it is those cycles over CYCLE.
    pub STALL: Option<Estimate>,
}

/// The instruction that reads a counter in user mode (RDPMC; on AArch64 a register).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rdpmc {
    /// Whether user mode may use it here.
    pub available: bool,
    /// Whether a hypervisor intercepts every use; `null` where it is not available.
    pub trapped: Option<bool>,
    /// Time of one use, in ns.
    pub ns: Option<Estimate>,
    /// Time of one use while instructions are counted as well, in ns: higher under some hypervisors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_with_instructions: Option<Estimate>,
    /// Why it is not available, or what follows from its price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One event's self-test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventTest {
    /// The paper's column, as in `L1DM`.
    pub name: String,
    /// The event by its vendor's name and code, as in `L2 request from L1D (0x60/c8)`.
    pub event: String,
    /// Whether it counted what known work causes, within the bounds, and nothing for work that causes nothing.
    pub passed: bool,
    /// Whether this event stands for the column.
    pub chosen: bool,
    /// What was counted and what was expected, or why the event could not be opened.
    pub why: String,
}

/// What is known about the clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClockFacts {
    /// The instruction or the system clock that was read.
    pub source: String,
    /// Frequency, in GHz; `null` for a system clock.
    pub ghz: Option<f64>,
    /// Smallest step, in ns.
    pub step_ns: f64,
    /// Whether the CPU says that the clock runs at one rate in all states.
    pub invariant: Option<bool>,
    /// Each CPU's clock minus the first CPU's, in ns, with the uncertainty that the line's transfer time leaves.
    pub offsets: Vec<ClockOffset>,
}

/// How far apart two CPUs' clocks are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClockOffset {
    /// The CPU compared with the first.
    pub cpu: u32,
    /// Its clock minus the first CPU's, in ns.
    pub ns: f64,
    /// How far off the offset may be, in ns: half the quickest round trip.
    pub uncertainty_ns: f64,
}

/// Columns of the figures of a row's counts, under a section's keys.
macro_rules! of_counts {
    ($section:literal, $row:ty, $counts:expr) => {{
        use $crate::section::{given, lower};
        const COUNTS: fn(&$row) -> &$crate::Counts = $counts;
        const COLUMNS: &[$crate::section::Column<$row>] = &[
            lower(concat!($section, ".L1DR"), "references to the level-1 data cache", "", |row| {
                given(&COUNTS(row).L1DR)
            }),
            lower(concat!($section, ".L1DM"), "misses of the level-1 data cache", "lines", |row| {
                given(&COUNTS(row).L1DM)
            }),
            lower(concat!($section, ".L1IM"), "misses of the level-1 instruction cache", "lines", |row| {
                given(&COUNTS(row).L1IM)
            }),
            lower(concat!($section, ".L2M"), "misses of the level-2 cache", "lines", |row| {
                given(&COUNTS(row).L2M)
            }),
            lower(concat!($section, ".L3M"), "misses of the last-level cache", "lines", |row| {
                given(&COUNTS(row).L3M)
            }),
            lower(concat!($section, ".INS"), "instructions", "", |row| given(&COUNTS(row).INS)),
            lower(concat!($section, ".CYCLE"), "core cycles", "cycles", |row| given(&COUNTS(row).CYCLE)),
            lower(concat!($section, ".STALL"), "share of the cycles without an instruction", "", |row| {
                given(&COUNTS(row).STALL)
            }),
        ];
        COLUMNS
    }};
}
pub(crate) use of_counts;

const TOOLS: &[Column<CounterTool>] =
    &[lower("counters.operation", "operation of a counting tool", "ns", |tool| given(&tool.ns))];
const EVENTS: &[Column<Counts>] = of_counts!("counters", Counts, |counts| counts);
const INSTRUCTIONS: &[Column<Counters>] = &[
    lower("counters.rdpmc", "reading a counter in user mode", "ns", |all| given(&all.rdpmc.ns)),
    lower("counters.rdpmc-beside-instructions", "the same while instructions are counted", "ns", |all| {
        given(&all.rdpmc.ns_with_instructions)
    }),
    lower("counters.cpuid", "CPUID", "ns", |all| given(&all.cpuid_ns)),
    lower("counters.empty", "two readings of the clock", "ns", |all| given(&all.empty_ns)),
];

impl Section for Counters {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        all.rows(TOOLS, self.tools.iter().map(|tool| (parameters![tool; name], tool)));
        let sides = self.tools.iter().flat_map(|tool| {
            let of_side = move |(side, counts): (&str, _)| {
                let mut parameters = parameters![tool; name];
                parameters.push(("side", side.to_owned()));
                (parameters, counts)
            };
            [("user", &tool.user), ("kernel", &tool.kernel)].map(of_side)
        });
        all.rows(EVENTS, sides);
        all.row(INSTRUCTIONS, self);
    }
}
