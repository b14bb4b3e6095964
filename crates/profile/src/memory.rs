//! How fast a CPU moves data, by instruction, memory type and size: section `memory`.

mod parts;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use parts::EarlierParts;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, higher, lower, neither, parameters, single};
use crate::{Estimate, Method};

/// Transfer rates, latencies and the cost of coherence by hand (Hamada et al.).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Memory {
    /// How it was measured; `not_available` also says why bursts and partials were not counted.
    pub method: Method,
    /// The memory types, by provider, and why one is missing.
    pub types: Vec<MemoryType>,
    /// Rates (Hamada et al., Tables 2 to 6 and 8).
    pub rates: Vec<MemoryRate>,
    /// Latency of dependent loads by size.
    pub latency: Vec<MemoryLatency>,
    /// What it costs to write lines back by hand (Fig. 7).
    pub coherence_cost: Vec<CoherenceCost>,
    /// What a read through PREFETCHNTA leaves in the caches, compared with a plain read (Table 7).
    pub prefetchnta: Vec<LinesLeft>,
    /// Transfers by engines other than the CPU (Figs. 1 and 2).
    pub dma: Vec<DmaRate>,
    /// Messages between two processes, which predictions of paths are compared with.
    pub transfers: Vec<Transfer>,
    /// Parts that an earlier run measured, and how; `method` is that of the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierParts>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Memory);

/// How the CPU caches memory: x86's memory types, set by page attributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CacheType {
    /// Write-back: all ordinary memory.
    #[default]
    #[serde(rename = "WB")]
    WriteBack,
    /// Write-combining: uncached, but stores are gathered into bursts.
    #[serde(rename = "WC")]
    WriteCombining,
    /// Uncached: every access is a transaction of its own.
    #[serde(rename = "UC")]
    Uncached,
}

impl CacheType {
    /// All types, in the paper's order.
    pub const ALL: [Self; 3] = [Self::WriteBack, Self::WriteCombining, Self::Uncached];

    /// The paper's name: `WB`, `WC`, `UC`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteBack => "WB",
            Self::WriteCombining => "WC",
            Self::Uncached => "UC",
        }
    }
}

impl fmt::Display for CacheType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A memory type from one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryType {
    /// The type.
    pub name: CacheType,
    /// What provides it: `anonymous mapping`, `vgem`, …
    pub provider: String,
    /// Whether this provider has any.
    pub available: bool,
    /// Whether its self-test showed that it is of this type. It does not where an emulator or a hypervisor
    /// ignores memory types.
    pub proven: bool,
    /// Why it is missing, or what the self-test saw.
    pub why: String,
}

/// What is done with a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Register to memory (Tables 2 and 3).
    Write,
    /// Memory to register (Tables 4 and 5).
    #[default]
    Read,
    /// Memory to memory (Tables 6 and 8).
    Copy,
}

impl Operation {
    /// All operations, in the paper's order.
    pub const ALL: [Self; 3] = [Self::Write, Self::Read, Self::Copy];

    /// `write`, `read`, `copy`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Copy => "copy",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a block is before the operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BlockState {
    /// Where the previous call left it: the same block again and again.
    #[default]
    Warm,
    /// In memory: each call takes another block from a pool larger than the caches.
    Fresh,
    /// Modified in this CPU's caches.
    Dirty,
    /// Written back and removed from all caches.
    Flushed,
    /// Written by this CPU and then read by another, so that both hold it. For a copy this is the destination;
    /// its source is warm.
    Shared,
    /// Modified in another CPU's caches. For a copy this is the source; its destination is warm.
    Remote,
}

impl BlockState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Warm, Self::Fresh, Self::Dirty, Self::Flushed, Self::Shared, Self::Remote];
    /// The states that a CPU can bring about alone.
    pub const ALONE: [Self; 4] = [Self::Warm, Self::Fresh, Self::Dirty, Self::Flushed];

    /// `warm`, `fresh`, `dirty`, `flushed`, `shared`, `remote`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Fresh => "fresh",
            Self::Dirty => "dirty",
            Self::Flushed => "flushed",
            Self::Shared => "shared",
            Self::Remote => "remote",
        }
    }
}

impl fmt::Display for BlockState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When an SFENCE waits for the stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Fence {
    /// After each call, that is, each block.
    Call,
    /// Once, after all calls that are timed together.
    #[default]
    Run,
    /// Never within the timed part.
    None,
}

impl Fence {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Call, Self::Run, Self::None];

    /// `call`, `run`, `none`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Run => "run",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rate of one operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryRate {
    /// What is done.
    pub op: Operation,
    /// The instructions: `plain-4`, `plain-8`, `sse2`, `sse2-nt`, `avx2-prefetchnta`, `rep-movsb`, …; published
    /// figures have `plain`, `simd`, `simd-nt`.
    pub instruction: String,
    /// Type of the memory; for a copy, of its source.
    #[serde(rename = "type")]
    pub cache_type: CacheType,
    /// Type of a copy's destination, where it is not write-back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_type: Option<CacheType>,
    /// Size of a block, in bytes: one call moves one block. Each thread has its own.
    pub bytes: u64,
    /// Threads running at the same time.
    pub threads: u32,
    /// Which CPUs they take: `sequential` or `binary-tree`; empty for one thread.
    pub mapping: String,
    /// Where the block is before; `null` where a publication does not say.
    pub state: Option<BlockState>,
    /// When stores are waited for; `null` for reads, and where a publication does not say.
    pub fence: Option<Fence>,
    /// Size of the pages that the block lies on, in bytes, as the kernel gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// NUMA node of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Bytes written, read or copied per second, all threads together; a copied byte counts once.
    pub bytes_per_s: Option<Estimate>,
    /// The same, counting everything that moves between the first-level cache and what lies behind it: a copied
    /// byte counts twice, and so does a stored one where the line is read first and written back later
    /// (write-allocate). `null` where nothing moves because the block stays in the first-level cache, and where
    /// the CPU itself chooses (`rep`).
    pub traffic_bytes_per_s: Option<f64>,
    /// Whole lines that a call read or wrote over the bus, by counter.
    pub bursts: Option<Estimate>,
    /// Transactions of less than a line that a call caused, by counter.
    pub partials: Option<Estimate>,
}

/// Latency of dependent loads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryLatency {
    /// Bytes of the lines visited, in random order.
    pub bytes: u64,
    /// Type of the memory.
    #[serde(rename = "type")]
    pub cache_type: CacheType,
    /// Size of the pages, in bytes, as the kernel gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// NUMA node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Time of one load, in ns.
    pub ns: Option<Estimate>,
}

/// What it costs to write lines back, or to evict them, by hand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CoherenceCost {
    /// `CLFLUSH`, `CLFLUSHOPT`, `CLWB`, `WBINVD`; on 64-bit ARM `DC CIVAC`, `DC CVAC`.
    pub operation: String,
    /// Lines that it was applied to; for WBINVD, which applies to all, the lines of the block.
    pub lines: u64,
    /// How many of them were modified, and so written back.
    pub dirty: u64,
    /// Time for all lines, including the fence at the end, in ns.
    pub ns: Option<Estimate>,
}

/// How many of a block's lines are gone at its second read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LinesLeft {
    /// The first read: `prefetchnta` or `read`.
    pub first: String,
    /// Size of the block, in bytes.
    pub bytes: u64,
    /// Lines of the block.
    pub lines: u64,
    /// `counter` or `timing`.
    pub method: String,
    /// Which cache: `l1`; `l2`; `bus` where lines read from memory again were counted (Hamada et al.: bursts); or
    /// `all` with the timing method: gone from all caches together, on a scale from the time of a block that was
    /// left in them to that of a block that is in none.
    pub cache: String,
    /// Lines that the second read did not find there.
    pub gone: Option<Estimate>,
    /// Time of one load of the second read, in ns; with the timing method only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<Estimate>,
}

/// The rate of a transfer by an engine other than the CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DmaRate {
    /// The engine: `CUDA copy engine`, …
    pub engine: String,
    /// `host-to-device`, `device-to-host`, `host-to-host`.
    pub direction: String,
    /// Where the source is before: `clean` or `dirty` in the caches, or `uncached`.
    pub source: String,
    /// Size of a block, in bytes.
    pub bytes: u64,
    /// Bytes per second.
    pub bytes_per_s: Option<Estimate>,
}

/// How long a message from one process to another takes: half the round-trip time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Transfer {
    /// The path, by the name of its file: `shared-memory`, `tcp-loopback`. `process-vm` means that the receiver's
    /// kernel copies the message out of the sender's buffer (process_vm_readv) once a flag has announced it.
    pub path: String,
    /// CPU of the sending process.
    pub from: u32,
    /// CPU of the receiving process.
    pub to: u32,
    /// Size of the message, in bytes; an empty one through shared memory is its flag alone.
    pub bytes: u64,
    /// From its first byte in the sender's buffer to its last in the receiver's, in ns.
    pub ns: Option<Estimate>,
    /// How long the sender's part of such a message takes, in ns: its copy into shared memory, or its calls.
    /// Timed with other messages than `ns`, in the same passes, between the same buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_ns: Option<Estimate>,
    /// How long the receiver's part takes once it may begin, in ns, timed likewise: its copy, or the calls that
    /// bring it bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_ns: Option<Estimate>,
    /// What each pass measured, within milliseconds; a host that moves CPUs does so between passes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<TransferPass>,
}

/// Medians of one pass, for the message and for the smallest message on its path, timed in turn with it. All in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransferPass {
    /// As [`Transfer::ns`].
    pub ns: f64,
    /// As [`Transfer::send_ns`].
    pub send_ns: f64,
    /// As [`Transfer::receive_ns`].
    pub receive_ns: f64,
    /// Time of the smallest message.
    pub least_ns: f64,
    /// What its sender takes.
    pub least_send_ns: f64,
    /// What its receiver takes.
    pub least_receive_ns: f64,
    /// What the receiver of a one-line message takes; 0 where the smallest message is more than a flag.
    pub line_receive_ns: f64,
}

const RATES: &[Column<MemoryRate>] = &[
    higher("memory.rate", "rate of reading, writing or copying", "bytes/s", |rate: &MemoryRate| {
        given(&rate.bytes_per_s)
    })
    .headline(),
    neither("memory.traffic", "the same with the lines that stores read first", "bytes/s", |rate| {
        single(rate.traffic_bytes_per_s)
    }),
    neither("memory.bursts", "whole lines that a call moves over the bus", "lines", |rate| {
        given(&rate.bursts)
    }),
    lower("memory.partials", "transactions of less than a line", "", |rate| given(&rate.partials)),
];
const LATENCY: &[Column<MemoryLatency>] =
    &[lower("memory.latency", "latency of dependent loads", "ns", |row: &MemoryLatency| given(&row.ns))
        .headline()];
const COSTS: &[Column<CoherenceCost>] =
    &[lower("memory.write-back", "writing lines back by hand", "ns", |cost| given(&cost.ns))];
const LEFT: &[Column<LinesLeft>] = &[
    neither("memory.gone", "lines gone when a block is read again", "lines", |row| given(&row.gone)),
    neither("memory.read-again", "load when a block is read again", "ns", |row| given(&row.ns)),
];
const ENGINES: &[Column<DmaRate>] =
    &[higher("memory.dma", "rate of an engine other than the CPU", "bytes/s", |row| given(&row.bytes_per_s))];
const TRANSFERS: &[Column<Transfer>] = &[
    lower("memory.transfer", "message between two processes, one way", "ns", |row| given(&row.ns)),
    lower("memory.transfer.send", "the sender's part of a message", "ns", |row| given(&row.send_ns)),
    lower("memory.transfer.receive", "the receiver's part of a message", "ns", |row| given(&row.receive_ns)),
];

impl Section for Memory {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn parts(&self) -> Vec<(String, &Method)> {
        self.earlier.iter().map(|earlier| (earlier.parts.join(", "), &earlier.method)).collect()
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let rates = self.rates.iter().map(|rate| {
            let parameters = parameters![
                rate; op, instruction, cache_type, destination_type, bytes, threads, mapping, state, fence,
                page_bytes, node
            ];
            (parameters, rate)
        });
        all.rows(RATES, rates);
        let latency = self.latency.iter();
        all.rows(LATENCY, latency.map(|row| (parameters![row; bytes, cache_type, page_bytes, node], row)));
        let costs = self.coherence_cost.iter();
        all.rows(COSTS, costs.map(|cost| (parameters![cost; operation, lines, dirty], cost)));
        let left = self.prefetchnta.iter();
        all.rows(LEFT, left.map(|row| (parameters![row; first, bytes, lines, method, cache], row)));
        all.rows(
            ENGINES,
            self.dma.iter().map(|row| (parameters![row; engine, direction, source, bytes], row)),
        );
        all.rows(TRANSFERS, self.transfers.iter().map(|row| (parameters![row; path, from, to, bytes], row)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_find_the_papers_names() {
        let rate = MemoryRate {
            op: Operation::Copy,
            instruction: "sse2-nt".into(),
            cache_type: CacheType::WriteCombining,
            bytes: 512,
            threads: 1,
            state: Some(BlockState::Fresh),
            fence: Some(Fence::Call),
            ..MemoryRate::default()
        };
        let value = serde_json::to_value(&rate).unwrap();
        for (field, expected) in [("op", "copy"), ("type", "WC"), ("state", "fresh"), ("fence", "call")] {
            assert_eq!(value[field], expected);
        }
        assert_eq!(serde_json::from_value::<MemoryRate>(value).unwrap(), rate);
    }
}
