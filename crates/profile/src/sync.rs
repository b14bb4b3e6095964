//! What it costs CPUs to wait for each other: section `sync`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, always, given, higher, lower, neither, parameters, single};
use crate::{Estimate, Method, PairMethod};

/// Barriers, fork and join, and programs that depend on them (Nakamura et al.).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Sync {
    /// How it was measured.
    pub method: Method,
    /// The bound that no algorithm can beat, for all CPUs measured.
    pub limit_ns: Option<SyncLimit>,
    /// One-way time of the two farthest CPUs on the best of 64 lines, in ns: the tenth percentile over the lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_line_ns: Option<Estimate>,
    /// What one more remote line costs a reader of several, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_line_ns: Option<Estimate>,
    /// Barriers by algorithm, number of threads and mapping.
    pub barriers: Vec<BarrierTime>,
    /// Fork and join of an empty parallel region: T_F + T_B of Nakamura et al., the time that the region costs
    /// its caller beyond a serial part long enough for all others to be waiting.
    pub fork_join: Vec<ForkJoinTime>,
    /// Other libraries, measured in turn with ours.
    pub peers: Vec<SyncPeer>,
    /// Programs, by name (`daxpy`, `galerkin`, `weather`).
    pub kernels: BTreeMap<String, Kernel>,
    /// Ratios that a source gives without the figures behind them, by name; measured sections need none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ratios: BTreeMap<String, Estimate>,
    /// How the source words the ratios that it does not give exactly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inexact: BTreeMap<String, Inexact>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Sync);

/// How a source words a figure that it gives without its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Inexact {
    /// "About" this value.
    About,
    /// Less than this value.
    Below,
    /// Between the ends of its interval, with no value given.
    Between,
}

/// Lower bounds of the latency from one-way times between the CPUs; contention can only add to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncLimit {
    /// Diameter of the one-way times, in ns: nobody may leave before everybody knows of the last arrival.
    /// Measured on the lines of the barriers' own flags, where any barrier of all CPUs has flags.
    pub barrier: Estimate,
    /// How hand-overs were made for `barrier`, where that is one way: `flags` on the lines of barriers' flags. `None`: the
    /// quicker of `turn` and `flags`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_by: Option<PairMethod>,
    /// Longest round trip from the first CPU to another, in ns; measured on the lines of the pairs.
    pub fork_join: Estimate,
}

/// One barrier's time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BarrierTime {
    /// `fbs`, `lock`, `central`, `dissemination`, …
    pub algorithm: String,
    /// Where the flags are: `separate-lines` or `one-line`; empty where there is no choice.
    pub layout: String,
    /// Threads that take part.
    pub threads: u32,
    /// How ranks map to CPUs: `sequential` (fill the nearest first) or `binary-tree` (spread first).
    pub mapping: String,
    /// Time of one barrier, in ns.
    pub ns: Option<Estimate>,
    /// `ns` over the bound measured in the same run: on this barrier's own lines if it has flags, on those of the
    /// pairs if it counts arrivals or its threads share a CPU.
    pub times_limit: Option<f64>,
}

impl BarrierTime {
    /// Algorithm and layout in one name, as `coho_sync::Algorithm` parses it.
    pub fn name(&self) -> String {
        match self.layout.as_str() {
            "one-line" => format!("{}-one-line", self.algorithm),
            _ => self.algorithm.clone(),
        }
    }
}

/// Fork and join of an empty region.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ForkJoinTime {
    /// As in [`BarrierTime::algorithm`], or `team`.
    pub algorithm: String,
    /// How the region begins and ends: by a `go-flag` and a flag of each member, or by a `barrier` at either end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Threads that take part.
    pub threads: u32,
    /// As in [`BarrierTime::mapping`].
    pub mapping: String,
    /// From the call until the last member has begun, in ns, without the clock readings.
    pub fork_ns: Option<Estimate>,
    /// From the last member's end until the caller continues, in ns, without the clock readings.
    pub join_ns: Option<Estimate>,
    /// Both, timed together in bursts, in ns.
    pub total_ns: Option<Estimate>,
    /// The total over the bound measured in the same run.
    pub times_limit: Option<f64>,
}

/// Another library's time, compared with ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SyncPeer {
    /// The library: `libgomp`, `pthread_barrier`, …
    pub name: String,
    /// `barrier` or `fork-join`.
    pub operation: String,
    /// Threads that took part.
    pub threads: u32,
    /// Time of the operation, in ns.
    pub ns: Option<Estimate>,
    /// Its time over ours in the same pass: above 1, ours is quicker.
    pub ratio: Option<Estimate>,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// A program run under several barriers, teams and mappings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Kernel {
    /// How it was run.
    pub method: Method,
    /// The runs.
    pub points: Vec<KernelPoint>,
    /// Largest relative deviation of the conserved or known quantity over all runs.
    pub invariant_error: Option<f64>,
    /// Which quantity that is.
    pub invariant: String,
    /// Constants of T_n = S + P / n + T_F + T_B fitted to the points, by name, in ns or ns per element.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fitted: BTreeMap<String, f64>,
}

/// One run of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KernelPoint {
    /// Loop length, for loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Problem size in unknowns or cells, for applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// The barrier: `fbs` or `lock`; `none` for one thread.
    pub barrier: String,
    /// As in [`BarrierTime::mapping`].
    pub mapping: String,
    /// Time of one loop or of the whole run, in s.
    pub seconds: Option<Estimate>,
    /// The part of it in which a thread waited for others, the mean over the threads, in s.
    pub sync_seconds: Option<Estimate>,
    /// Floating-point operations, in 10^9 per second.
    pub gflops: Option<Estimate>,
    /// Batches during which other work took a CPU from one of the threads, or the hypervisor took one: counted here and kept
    /// out of the figures, unless these are [`disturbed`](Self::disturbed).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disturbed_batches: u64,
    /// Whether nearly all batches were disturbed, so that the figures are of them: they say what the machine was doing, not
    /// what it can do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

const LIMITS: &[Column<SyncLimit>] = &[
    lower("sync.limit.barrier", "what no barrier of all CPUs can be quicker than", "ns", |limit| {
        always(&limit.barrier)
    }),
    lower("sync.limit.fork-join", "what no fork and join of all CPUs can be quicker than", "ns", |limit| {
        always(&limit.fork_join)
    }),
];
const LINES: &[Column<Sync>] = &[
    lower("sync.best-line", "the longest way between two CPUs on the best line", "ns", |sync| {
        given(&sync.best_line_ns)
    }),
    lower("sync.extra-line", "what one more remote line costs a reader", "ns", |sync| {
        given(&sync.extra_line_ns)
    }),
];
const BARRIERS: &[Column<BarrierTime>] = &[
    lower("sync.barrier", "a barrier", "ns", |row: &BarrierTime| given(&row.ns)).headline(),
    lower("sync.barrier.times-limit", "a barrier over the limit", "", |row| single(row.times_limit)),
];
const FORK_JOIN: &[Column<ForkJoinTime>] = &[
    lower("sync.fork-join.fork", "fork of an empty parallel region", "ns", |row| given(&row.fork_ns)),
    lower("sync.fork-join.join", "join of an empty parallel region", "ns", |row| given(&row.join_ns)),
    lower("sync.fork-join.total", "fork and join of an empty parallel region", "ns", |row| {
        given(&row.total_ns)
    }),
    lower("sync.fork-join.times-limit", "fork and join over the limit", "", |row| single(row.times_limit)),
];
const PEERS: &[Column<SyncPeer>] = &[
    lower("sync.peer", "the operation of another library", "ns", |peer| given(&peer.ns)),
    neither("sync.peer.over-ours", "another library's time over coho's", "", |peer| given(&peer.ratio)),
];
const PROGRAMS: &[Column<KernelPoint>] = &[
    lower("sync.program", "a program's time", "s", |point| given(&point.seconds)),
    lower("sync.program.waiting", "the time that a program's threads wait", "s", |point| {
        given(&point.sync_seconds)
    }),
    higher("sync.program.gflops", "a program's floating-point operations", "10^9/s", |point| {
        given(&point.gflops)
    }),
];
const RATIOS: &[Column<Estimate>] = &[neither("sync.ratio", "a ratio that a source gives", "", always)];

impl Section for Sync {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn parts(&self) -> Vec<(String, &Method)> {
        self.kernels.iter().map(|(name, kernel)| (name.clone(), &kernel.method)).collect()
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        all.rows(LIMITS, self.limit_ns.iter().map(|limit| (Vec::new(), limit)));
        all.row(LINES, self);
        let barriers = self.barriers.iter();
        all.rows(BARRIERS, barriers.map(|row| (parameters![row; algorithm, layout, threads, mapping], row)));
        let fork_join = self.fork_join.iter();
        all.rows(FORK_JOIN, fork_join.map(|row| (parameters![row; algorithm, by, threads, mapping], row)));
        all.rows(PEERS, self.peers.iter().map(|peer| (parameters![peer; name, operation, threads], peer)));
        let points = self.kernels.iter().flat_map(|(name, kernel)| {
            kernel.points.iter().map(move |point| {
                let program = vec![("program", name.clone())];
                ([program, parameters![point; length, size, threads, barrier, mapping]].concat(), point)
            })
        });
        all.rows(PROGRAMS, points);
        all.rows(RATIOS, self.ratios.iter().map(|(name, ratio)| (vec![("name", name.clone())], ratio)));
    }
}
