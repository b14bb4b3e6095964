//! What stands in a path's file. Reading it checks every value by itself; [`super::resolve`] checks what entries say of
//! each other.

use std::collections::BTreeMap;

use coho_profile::{BlockState, CacheType, Fence, Ns, Operation};
use serde::Deserialize;
use toml::Spanned;

use super::rate::{Factor, Rate};
use super::stage::{Kind, Side};
use super::statement::Statement;

/// The largest transfer, in bytes, and the longest time, in ns, that a file may state.
pub(super) const MAX_BYTES: f64 = (1u64 << 50) as f64;
pub(super) const MAX_NS: f64 = 1e15;
/// The quickest rate that a file may state, in bytes per second.
pub(super) const MAX_RATE: f64 = 1e15;

/// Everything in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entries {
    pub name: String,
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub source: String,
    pub reading: Option<String>,
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    pub profile: Option<String>,
    #[serde(default)]
    pub instructions: Vec<Spanned<String>>,
    #[serde(default)]
    pub bytes: Vec<Spanned<Size>>,
    pub gap_ns: Option<Spanned<Span>>,
    #[serde(default)]
    pub rates: BTreeMap<Spanned<String>, RateEntry>,
    #[serde(default)]
    pub costs: BTreeMap<Spanned<String>, CostEntry>,
    #[serde(default)]
    pub stage: Vec<Spanned<StageEntry>>,
    #[serde(default)]
    pub variant: Vec<Spanned<VariantEntry>>,
    #[serde(default)]
    pub figure: Vec<Spanned<FigureEntry>>,
    #[serde(default)]
    pub crossover: Vec<Spanned<CrossoverEntry>>,
    #[serde(default)]
    pub statement: Vec<Spanned<Statement>>,
}

/// The value, if it is a number within these bounds.
pub(super) fn within(what: &str, value: f64, least: f64, most: f64) -> Result<f64, String> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else if value.is_finite() {
        let bound = if value < least { format!("at least {least}") } else { format!("at most {most:e}") };
        Err(format!("{what} is {bound}, not {value}"))
    } else {
        Err(format!("{what} is a number, not {value}"))
    }
}

/// Numbers within bounds.
macro_rules! numbers {
    ($($name:ident: $what:literal, $least:expr, $most:expr;)+) => {
        $(#[doc = $what]
        #[derive(Debug, Clone, Copy, Deserialize)]
        #[serde(try_from = "f64")]
        pub(super) struct $name(pub f64);

        impl TryFrom<f64> for $name {
            type Error = String;

            fn try_from(value: f64) -> Result<Self, String> {
                within($what, value, $least, $most).map(Self)
            }
        })+
    };
}

numbers! {
    Size: "a size in bytes", 1.0, MAX_BYTES;
    FromSize: "a size in bytes", 0.0, MAX_BYTES;
    FragmentSize: "a fragment in bytes", 1.0, MAX_BYTES;
    BytesPerS: "a rate in bytes a second", 1e-3, MAX_RATE;
    Time: "a time in ns", 0.0, MAX_NS;
    StartUp: "a start-up time in ns", 0.0, MAX_NS;
    Gap: "a start-up gap in ns", 0.0, MAX_NS;
    Fixed: "a fixed cost in ns", 0.0, MAX_NS;
    Times: "a factor", 1e-6, 1e6;
    CostTimes: "a factor", 0.0, 1e6;
}

/// From one value to another; with `points`, on a grid that is even in the values' logarithms.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    pub from: f64,
    pub to: f64,
    pub points: Option<usize>,
}

/// Where a rate has its figures.
#[derive(Debug)]
pub(super) enum RateSource {
    Stated(Rate),
    /// Of a profile's memory.
    Memory(Query),
    /// Of a profile's messages between two processes.
    Messages(TransferQuery),
    /// Another rate, by its name.
    Of(Spanned<String>),
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "RawRate")]
pub(super) struct RateEntry {
    pub source: RateSource,
    pub factor: Option<Factor>,
}

impl RateEntry {
    pub fn is_measured(&self) -> bool {
        matches!(self.source, RateSource::Memory(_) | RateSource::Messages(_))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRate {
    bytes_per_s: Option<BytesPerS>,
    start_ns: Option<StartUp>,
    table: Option<Vec<(Size, BytesPerS)>>,
    profile: Option<Query>,
    transfer: Option<TransferQuery>,
    of: Option<Spanned<String>>,
    times: Option<Times>,
    from_bytes: Option<FromSize>,
}

impl TryFrom<RawRate> for RateEntry {
    type Error = &'static str;

    fn try_from(raw: RawRate) -> Result<Self, &'static str> {
        let stated = raw.bytes_per_s.is_some();
        let source = match (raw.of, raw.bytes_per_s, raw.table, raw.profile, raw.transfer) {
            (Some(of), None, None, None, None) if raw.start_ns.is_none() => RateSource::Of(of),
            (Some(_), ..) => {
                return Err("a rate of another has no figures of its own; leave out 'of' or the figures");
            }
            _ if raw.start_ns.is_some() && !stated => {
                return Err("'start_ns' goes with 'bytes_per_s' alone");
            }
            (_, Some(BytesPerS(rate)), None, None, None) => {
                let start = raw.start_ns.map_or(Ns::ZERO, |start| Ns(start.0));
                RateSource::Stated(Rate::start_up(start, rate))
            }
            (_, None, Some(points), None, None) => {
                let table = Rate::table(points.iter().map(|(bytes, rate)| (bytes.0, rate.0)).collect());
                match (points.len(), table.corners().count()) {
                    (0, _) => return Err("an empty table; add pairs of bytes and bytes a second"),
                    (all, distinct) if distinct < all => return Err("a table has each size once"),
                    _ => RateSource::Stated(table),
                }
            }
            (_, None, None, Some(query), None) => RateSource::Memory(query),
            (_, None, None, None, Some(query)) => RateSource::Messages(query),
            _ => return Err("a rate has one of: bytes_per_s, table, profile, transfer, of"),
        };
        let from_bytes = raw.from_bytes.map_or(0.0, |from| from.0);
        if raw.from_bytes.is_some() && raw.times.is_none() {
            return Err("'from_bytes' says from where on 'times' holds; add 'times'");
        }
        Ok(Self { source, factor: raw.times.map(|Times(times)| Factor { times, from_bytes }) })
    }
}

/// Which of a profile's rates. What is not named may be anything, and the quickest rate counts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pub op: Operation,
    /// One instruction, or with a leading `*` all that end so: `*-nt`.
    pub instruction: Option<String>,
    #[serde(rename = "type", default)]
    pub cache_type: CacheType,
    pub state: Option<BlockState>,
    pub fence: Option<Fence>,
    #[serde(default = "one")]
    pub threads: u32,
}

fn one() -> u32 {
    1
}

/// Which of a profile's messages between two processes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransferQuery {
    pub path: String,
    pub part: TransferPart,
}

/// The whole message, or what one of its ends does.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TransferPart {
    Whole,
    Send,
    Receive,
    /// The receiver's part after a flag that it polls; the first line of a short message arrives with the flag.
    #[serde(rename = "receive-behind-flag")]
    ReceiveBehindFlag,
}

/// Where a cost has its figure.
#[derive(Debug)]
pub(super) enum CostSource {
    Stated(Ns),
    /// A system call, by its name in a profile.
    Call(String),
    /// A word sent from one CPU to another.
    OneWay,
    /// What remains of the smallest message on this path without the work of its ends.
    Handover(String),
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "RawCost")]
pub(super) struct CostEntry {
    pub source: CostSource,
    pub times: f64,
}

impl CostEntry {
    pub fn is_measured(&self) -> bool {
        !matches!(self.source, CostSource::Stated(_))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCost {
    ns: Option<Time>,
    call: Option<String>,
    message: Option<Message>,
    transfer: Option<String>,
    times: Option<CostTimes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Message {
    OneWay,
}

impl TryFrom<RawCost> for CostEntry {
    type Error = &'static str;

    fn try_from(raw: RawCost) -> Result<Self, &'static str> {
        let source = match (raw.ns, raw.call, raw.message, raw.transfer) {
            (Some(Time(ns)), None, None, None) => CostSource::Stated(Ns(ns)),
            (None, Some(call), None, None) => CostSource::Call(call),
            (None, None, Some(Message::OneWay), None) => CostSource::OneWay,
            (None, None, None, Some(path)) => CostSource::Handover(path),
            _ => return Err("a cost has one of: ns, call, message, transfer"),
        };
        Ok(Self { source, times: raw.times.map_or(1.0, |times| times.0) })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageEntry {
    pub name: String,
    pub kind: Kind,
    pub side: Option<Spanned<Side>>,
    pub rate: Option<Spanned<String>>,
    pub gap_ns: Option<Gap>,
    #[serde(default)]
    pub gap: Vec<Spanned<String>>,
    #[serde(default)]
    pub gaps: u32,
    pub fixed_ns: Option<Fixed>,
    #[serde(default)]
    pub fixed: Vec<Spanned<String>>,
    #[serde(default)]
    pub overlap: OverlapEntry,
    pub chunk_bytes: Option<Spanned<FragmentSize>>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OverlapEntry {
    #[default]
    StoreAndForward,
    CutThrough,
    Pipelined,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantEntry {
    pub name: String,
    pub stages: Vec<Spanned<String>>,
    pub max_bytes: Option<Size>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureEntry {
    pub name: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub bus: String,
    pub a: Spanned<String>,
    pub b: Spanned<String>,
    #[serde(default)]
    pub gap: GapOf,
}

/// What a figure's gap is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum GapOf {
    /// The sum of all of a variant's gaps.
    #[default]
    Sum,
    /// The length of each.
    Each,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrossoverEntry {
    pub name: String,
    pub protocols: Vec<Spanned<String>>,
    pub bytes: Spanned<Span>,
}
