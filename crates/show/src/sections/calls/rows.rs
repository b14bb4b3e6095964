//! How calls are named, and which rows belong together.

use coho_model::delegation::CallCost;
use coho_profile::{CacheState, Call, Calls, Counts, Estimate, Side, published};

use crate::sections::prelude::*;

/// The paper's short name for its machine, and its clock, which does not change: Turbo Boost is off.
pub(in crate::sections) const MACHINE: &str = "Xeon X5550";
pub(in crate::sections) const PAPER_GHZ: f64 = 2.67;

/// Follows the names of MPI's functions whose bytes went over TCP.
pub(in crate::sections) const OVER_TCP: &str = " over TCP";

/// A call's name in the profile's tables: the paper's MPI went through sockets.
pub(in crate::sections) fn listed(name: &str, subject: &Subject) -> String {
    let socket = if subject.published && name.starts_with("MPI_") { OVER_TCP } else { "" };
    format!("{name}{socket}")
}

/// The function's own name, where its bytes went over TCP.
pub(in crate::sections) fn over_tcp(name: &str) -> Option<&str> {
    name.strip_suffix(OVER_TCP)
}

/// The columns of Shimosawa, Hori & Ishikawa's Tables 5 to 7, with their abbreviations, and how `compare` knows them.
pub(in crate::sections) const COLUMNS: [(&str, &str); 9] = [
    ("L1DR", "L1DR.references"),
    ("L1DM", "L1DM.lines"),
    ("L1IM", "L1IM.lines"),
    ("L2M", "L2M.lines"),
    ("L3M", "L3M.lines"),
    ("INS", "INS.instructions"),
    ("CYCLE", "CYCLE.cycles"),
    ("STALL", "STALL.share"),
    ("CPI", "CPI.cycles/instruction"),
];

/// What the columns count.
pub(in crate::sections) const COLUMNS_MEANING: &str = "L1DR: references to the level-1 data cache; L1DM, L1IM, L2M, L3M: lines \
    missed in the level-1 data and instruction, level-2 and last-level cache; INS: instructions; STALL: share of the cycles in \
    which nothing was executed; CPI: cycles per instruction.";

/// The sets of calls with their tables in the paper.
pub(in crate::sections) const SETS: [(&str, &str); 4] = [
    ("syscalls", "System calls"),
    ("libc", "Functions of the C library"),
    ("mpi", "MPI functions"),
    ("extra", "Calls asked for"),
];

/// The states of the caches, in the order of tables.
pub(in crate::sections) const STATES: [CacheState; 3] =
    [CacheState::Cold, CacheState::Second, CacheState::Warm];

/// `cold`, `second` or `steady`.
pub(in crate::sections) fn state(state: CacheState) -> &'static str {
    match state {
        CacheState::Cold => "cold",
        CacheState::Second => "second",
        CacheState::Warm => "steady",
    }
}

/// Where the events happened; nothing where that is not distinguished.
pub(in crate::sections) fn side(side: Side) -> &'static str {
    match side {
        Side::User => "user",
        Side::Kernel => "kernel",
        Side::Both => "",
    }
}

/// How a call was made: by the C library or bare. Functions of libraries have one form.
pub(in crate::sections) fn form(call: &Call) -> &'static str {
    match (call.set.as_str(), call.wrapped) {
        ("libc" | "mpi", _) => "",
        (_, true) => "libc",
        (_, false) => "bare",
    }
}

/// Figures in the order of [`COLUMNS`].
pub(in crate::sections) fn events(call: &Call) -> [Option<&Estimate>; 9] {
    let Counts { L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL, .. } = &call.counts;
    [L1DR, L1DM, L1IM, L2M, L3M, INS, CYCLE, STALL, &call.CPI].map(Option::as_ref)
}

/// Whether any event of a call was counted.
pub(in crate::sections) fn counted(call: &Call) -> bool {
    events(call).iter().any(Option::is_some)
}

/// The paper's calls.
pub(in crate::sections) fn published() -> Calls {
    published::paper("shimosawa-hori-ishikawa").machine().calls.unwrap_or_default()
}

/// What stands beside measured calls: the paper's, and what they cost.
#[derive(Default)]
pub(super) struct Paper<'a> {
    pub calls: Calls,
    costs: &'a [CallCost],
}

impl<'a> Paper<'a> {
    pub fn beside(subject: &'a Subject) -> Self {
        Self { costs: &subject.answers.published.costs, calls: published() }
    }

    /// What a call costs by the paper's figures.
    pub fn cost(&self, name: &str) -> Option<&CallCost> {
        let name = over_tcp(name).unwrap_or(name);
        self.costs.iter().find(|cost| cost.name == name)
    }
}

/// `write(4096) on ext4`.
pub(super) fn name(call: &str, payload_bytes: u64, filesystem: Option<&str>) -> String {
    let payload = if payload_bytes > 1 { format!("({payload_bytes})") } else { String::new() };
    let place =
        filesystem.filter(|name| *name != "tmpfs").map_or_else(String::new, |name| format!(" on {name}"));
    format!("{call}{payload}{place}")
}

/// How the caches were cleared before a cold call: `64 KiB of nops and a walk over 64 MiB, 2.0 times the last-level cache`;
/// `None` where that is unknown.
pub(super) fn cleared(calls: &Calls) -> Option<String> {
    let bytes = |name: &str| calls.conditions.parameters.get(name)?.as_u64().filter(|bytes| *bytes > 0);
    let walk = bytes("clear_data_bytes")?;
    let code = bytes("clear_code_bytes")
        .map_or_else(String::new, |code| format!("{} of nops and ", words::bytes(code)));
    let last = bytes("last_level_cache_bytes").map_or_else(
        || ", beside a last-level cache of unknown size".to_owned(),
        |last| {
            format!(", {:.1} times the last-level cache of {}", walk as f64 / last as f64, words::bytes(last))
        },
    );
    Some(format!("{code}a walk over {}{last}", words::bytes(walk)))
}

/// The same figures in the other form. The form that bears no name is the paper's: of its system calls the instruction, as it
/// counts what the kernel does; else the C library's function, where the other one is `bare`.
pub(super) fn is_other_form(call: &Call, other: &Call) -> bool {
    let unnamed_is_bare = call.set == "syscalls";
    let same = |call: &Call| (call.name.clone(), call.state, call.side, counted(call));
    other.wrapped != call.wrapped && call.wrapped == unnamed_is_bare && same(other) == same(call)
}
