//! What calls cost by what their caller has used of its caches, at home and on another core: parts of section `calls`.

use serde::{Deserialize, Serialize};

use crate::section::{Column, Figures, always, given, higher, lower, parameters};
use crate::{Calls, Estimate};

/// What a call costs its caller that has used so much of its caches since its last call: in the call itself, and in walking
/// its working set again afterwards, which the call may have pushed out.
///
/// `home_ns`, `away_ns` and `async_ns` were measured in the same passes, each less the same walk without a call. Where
/// rows differ in `work_ns` alone, they repeat `home_ns` and `away_ns`, which do not depend on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Footprint {
    /// The call: `write`.
    pub call: String,
    /// Bytes that it moves; 0 where it moves none.
    pub payload_bytes: u64,
    /// The file system of its file; `null` where it has none.
    pub filesystem: Option<String>,
    /// Data that the caller has walked since its last call, in bytes.
    pub bytes: u64,
    /// Instructions (nops) that it has executed since, in bytes.
    pub instruction_bytes: u64,
    /// CPUs that make the call at the same time, each for itself.
    pub callers: u32,
    /// Whether several callers use one file or one each; `null` of one caller, and of calls without a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// What the host executed last before; `null` where no host was there.
    pub host_last: Option<HostLast>,
    /// Made by the caller itself, in ns.
    pub home_ns: Option<Estimate>,
    /// Made by another core, for which the caller waits, in ns.
    pub away_ns: Option<Estimate>,
    /// Made by another core while the caller works for `work_ns` and waits for the rest, in ns: what it costs beyond that
    /// work. A payload that is written is first copied, as the caller may change its own meanwhile.
    pub async_ns: Option<Estimate>,
    /// The work that overlaps with the call, in ns; `null` where none was posted.
    pub work_ns: Option<Estimate>,
    /// `home_ns` less `away_ns`, pass by pass, in ns: what the caller gains by the other core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_ns: Option<Estimate>,
    /// `home_ns` less `async_ns`, pass by pass, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_gain_ns: Option<Estimate>,
    /// Lines that the caller missed in its level-1 data cache, in a call at home and in walking again, by counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home_misses: Option<Estimate>,
    /// The same with the call on another core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_misses: Option<Estimate>,
}

impl Footprint {
    /// Whether the row belongs to a call's curve: of one caller, which has walked data alone.
    pub fn is_of_curve(&self) -> bool {
        self.callers == 1 && self.instruction_bytes == 0
    }

    /// What distinguishes calls: name, payload in bytes, file system.
    pub fn call_key(&self) -> (&str, u64, Option<&str>) {
        (&self.call, self.payload_bytes, self.filesystem.as_deref())
    }
}

/// What a host executed last before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HostLast {
    /// The same function.
    Same,
    /// Every other function that was measured, once each.
    Other,
}

/// Whose file a call is about, where several CPUs make it at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Files {
    /// All callers use one.
    Same,
    /// Each has its own.
    Different,
}

/// A channel to a host: a thread on another CPU that polls a cache line of the caller's. No kernel is entered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Channel {
    /// The caller's CPU.
    pub caller: u32,
    /// The host's CPU.
    pub host: u32,
    /// The closest level that the two are claimed to share.
    pub claimed: String,
    /// From the store until the other sees it: half of the shortest way there and back, in ns.
    pub one_way_ns: Option<Estimate>,
    /// What the caller does to post a request, in ns.
    pub post_ns: Option<Estimate>,
    /// A request that does nothing, there and back, in ns.
    pub round_trip_ns: Option<Estimate>,
    /// A request that keeps the host busy for a while, less that while, in ns: as calls do. The caller, which looks for the
    /// answer, takes the line away to which it is to be written.
    pub busy_round_trip_ns: Option<Estimate>,
    /// Requests posted together.
    pub batches: Vec<Batch>,
    /// Requests whose payload the host reads, by its size.
    pub payloads: Vec<ChannelPayload>,
}

/// Requests that are posted together and then waited for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Batch {
    /// How many.
    pub requests: u32,
    /// Time of each, in ns: that of all over their number.
    pub ns: Option<Estimate>,
}

/// A request whose payload the caller has just written and the host reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChannelPayload {
    /// Its size.
    pub bytes: u64,
    /// There and back where the host reads it in place, in ns.
    pub in_place_ns: Option<Estimate>,
    /// There and back where the caller first copies it to where the host reads it, in ns.
    pub copied_ns: Option<Estimate>,
}

/// What a call takes on a host by what that did before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Affinity {
    /// The call.
    pub call: String,
    /// Bytes that it moves.
    pub payload_bytes: u64,
    /// The file system of its file.
    #[serde(default)]
    pub filesystem: Option<String>,
    /// What the host executed last.
    pub host_last: HostLast,
    /// How long the host had nothing to do since, in ns; it polled.
    pub host_idle_ns: f64,
    /// There and back with the call, in ns.
    pub ns: Estimate,
    /// This over the same after the same function without a pause, pass by pass.
    #[serde(default)]
    pub over_warm: Option<Estimate>,
}

/// Several callers and several hosts: which host executes what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Assignment {
    /// What decides on the host.
    pub by: AssignedBy,
    /// Threads that call, each on a CPU of its own.
    pub callers: u32,
    /// Hosts, each on a CPU of its own.
    pub hosts: u32,
    /// A call, there and back, over all that were made, in ns.
    pub ns: Estimate,
}

/// What decides on the host that executes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AssignedBy {
    /// The function: each host executes its own ones, for all callers.
    Function,
    /// The caller: each host executes all that its own ones call.
    Application,
}

const FOOTPRINTS: &[Column<Footprint>] = &[
    lower("calls.home", "a call by its caller, after so much data", "ns", |row| given(&row.home_ns)),
    lower("calls.away", "a call by another core, after so much data", "ns", |row| given(&row.away_ns)),
    lower("calls.posted", "a call by another core beside the caller's work", "ns", |row| {
        given(&row.async_ns)
    }),
    higher("calls.gain", "what the caller gains by the other core", "ns", |row| given(&row.gain_ns)),
    higher("calls.posted.gain", "what the caller gains by a posted call", "ns", |row| {
        given(&row.async_gain_ns)
    }),
    lower("calls.home.misses", "lines missed with a call at home", "lines", |row| given(&row.home_misses)),
    lower("calls.away.misses", "lines missed with a call on another core", "lines", |row| {
        given(&row.away_misses)
    }),
];
const CHANNELS: &[Column<Channel>] = &[
    lower("calls.channel.one-way", "from a store until the host sees it", "ns", |one| given(&one.one_way_ns)),
    lower("calls.channel.post", "posting a request", "ns", |one| given(&one.post_ns)),
    lower("calls.channel.round-trip", "an empty request there and back", "ns", |one| {
        given(&one.round_trip_ns)
    }),
    lower("calls.channel.busy-round-trip", "a request there and back beside its work", "ns", |one| {
        given(&one.busy_round_trip_ns)
    }),
];
const BATCHES: &[Column<Batch>] =
    &[lower("calls.channel.batch", "each of several requests posted together", "ns", |batch| {
        given(&batch.ns)
    })];
const PAYLOADS: &[Column<ChannelPayload>] = &[
    lower("calls.channel.in-place", "a request whose payload is read in place", "ns", |one| {
        given(&one.in_place_ns)
    }),
    lower("calls.channel.copied", "a request whose payload is copied first", "ns", |one| {
        given(&one.copied_ns)
    }),
];
const AFFINITY: &[Column<Affinity>] = &[
    lower("calls.affinity", "a call by what its host did before", "ns", |row| always(&row.ns)),
    lower("calls.affinity.over-warm", "the same over a call after its like", "", |row| given(&row.over_warm)),
];
const ASSIGNMENTS: &[Column<Assignment>] =
    &[lower("calls.assignment", "a call among several callers and hosts", "ns", |row| always(&row.ns))];

/// Adds the figures of the parts of section `calls` that this module describes.
pub(crate) fn figures<'a>(calls: &'a Calls, all: &mut Figures<'a>) {
    let mut parameters = Vec::new();
    for row in &calls.footprint {
        let mut of_row = parameters![
            row; call, payload_bytes, filesystem, bytes, instruction_bytes, callers, files, host_last
        ];
        let work_ns = row.work_ns.as_ref().map(|work| work.median.to_string());
        of_row.extend(work_ns.map(|ns| ("work_ns", ns)));
        parameters.push(of_row);
    }
    all.rows(FOOTPRINTS, parameters.into_iter().zip(&calls.footprint));
    let of_channel = |channel: &Channel| parameters![channel; caller, host, claimed];
    all.rows(CHANNELS, calls.channel.iter().map(|channel| (of_channel(channel), channel)));
    let batches = calls.channel.iter().flat_map(|channel| {
        let batches = channel.batches.iter();
        batches.map(move |batch| ([of_channel(channel), parameters![batch; requests]].concat(), batch))
    });
    all.rows(BATCHES, batches);
    let payloads = calls.channel.iter().flat_map(|channel| {
        let payloads = channel.payloads.iter();
        payloads.map(move |payload| ([of_channel(channel), parameters![payload; bytes]].concat(), payload))
    });
    all.rows(PAYLOADS, payloads);
    let affinity = calls.affinity.iter();
    let affinity =
        affinity.map(|row| (parameters![row; call, payload_bytes, filesystem, host_last, host_idle_ns], row));
    all.rows(AFFINITY, affinity);
    all.rows(ASSIGNMENTS, calls.assignments.iter().map(|row| (parameters![row; by, callers, hosts], row)));
}
