//! What a call costs its caller and what a message to another core costs, side by side (Shimosawa, Hori & Ishikawa).
//!
//! The figures alone decide nothing. A call made at home also costs the caller the lines that it evicts and finds
//! evicted, and that depends on how much of its caches the caller has in use; there the call was timed warm. Where its cost
//! was measured by that, at home and on another core, the curves decide.

mod choices;
mod curve;
mod finding;
mod judgement;
mod taken;
mod verdict;

pub use choices::{Choice, Mode, choices, gaining};
pub(crate) use finding::decisions;
pub use finding::finding;
pub use judgement::{CallCost, CurvePoint, Decision, DelegationVerdict, Judgement};
pub use taken::{LATER, NAMES, taken};
pub(crate) use verdict::condition;

use std::collections::HashMap;

use coho_profile::{CacheState, Call, CallMethod, Calls, Coherence, Damage, Estimate, Ns, PairMethod, Side};

use crate::signs::with_minus;
use crate::stability;

/// Size of a line, in bytes: of all CPUs that are measured here.
const LINE_BYTES: f64 = 64.0;
/// The working set whose damage is judged, in bytes, or the nearest that was measured: most of the usual level-1 data
/// cache, as a loop that was tuned to it has.
const WORKING_SET_BYTES: u64 = 24 << 10;
/// Calls that mean the very thread that calls: nobody can make them for it.
const OF_THE_THREAD: [&str; 2] = ["sched_yield", "gettid"];

/// What follows from the section `calls`: a cost for each call that was measured, in the order of the calls, and what its
/// curves decide. What is not known is `None`, and `why` says what it is.
///
/// The channel's cost comes from `coherence` ([`channel`]); the curves are predicted and judged by the section alone.
///
/// ```
/// let paper = coho_profile::published::read("shimosawa-hori-ishikawa")?;
/// let calls = paper.machines[0].1.calls.as_ref().unwrap();
/// let judgement = coho_model::delegation::judge(calls, None);
/// let write = judgement.costs.iter().find(|call| call.name == "write").unwrap();
/// assert_eq!(write.footprint_kib, Some(405.0 * 64.0 / 1024.0));
/// assert_eq!(write.channel_ns, None); // The paper leaves the channel's cost for later.
/// # Ok::<(), coho_profile::Error>(())
/// ```
pub fn judge(calls: &Calls, coherence: Option<&Coherence>) -> Judgement {
    let predicted = curve::predict(calls);
    let verdicts = verdict::verdicts(calls, coherence, &predicted);
    let channel = coherence.and_then(channel);
    let holds = channel.and(coherence).and_then(stability::condition);
    let mut names: Vec<&str> = Vec::new();
    let mut rows: HashMap<&str, Vec<&Call>> = HashMap::new();
    for call in &calls.calls {
        let rows = rows.entry(&call.name).or_default();
        if rows.is_empty() {
            names.push(&call.name);
        }
        rows.push(call);
    }
    let mut damage: HashMap<&str, Vec<&Damage>> = HashMap::new();
    for one in &calls.damage {
        damage.entry(&one.name).or_default().push(one);
    }
    let cost = |name| {
        let decided = verdicts.iter().find(|verdict| is_of(verdict, name));
        let damage = damage.get(name).map_or(&[][..], |damage| damage);
        let cost = Evidence::of_rows(calls, &rows[name], damage).cost(name, channel, decided);
        CallCost { channel_holds: holds.clone(), ..cost }
    };
    Judgement { costs: names.iter().map(|name| cost(name)).collect(), verdicts, predicted }
}

/// What a message to another core and its answer cost between the nearest two CPUs; `None` if neither `flags`
/// nor `turn` was measured.
///
/// A message is a plain store that the other side waits for with plain loads, so a step of `flags` is one way: the
/// receiver's load fetches the line and the next store takes it back, two transfers. `turn`, where one transfer is a
/// step, counts twice. (On a Zen 3 with 63 ns a step of `flags` and 26 to 35 ns of `turn`, a mailbox of one line took
/// 130 to 140 ns there and back.) Free-running increments are no messages.
pub fn channel(coherence: &Coherence) -> Option<Ns> {
    let nearest = |method: PairMethod| {
        let mine = coherence.pairs.iter().filter(|pair| pair.method == method).map(|pair| Ns(pair.ns.median));
        mine.filter(|time| is_time(*time)).min_by(Ns::total_cmp)
    };
    let one_way = nearest(PairMethod::Flags).or_else(|| Some(2.0 * nearest(PairMethod::Turn)?));
    one_way.map(|one_way| 2.0 * one_way)
}

/// What a call costs warm, as programs issue it: through the C library where that was measured.
pub fn issued(calls: &Calls, name: &str) -> Option<Ns> {
    Evidence::of(calls, name).issued
}

/// Whether a verdict is on the call of this name: without a size it moves one byte or none.
fn is_of(verdict: &DelegationVerdict, name: &str) -> bool {
    let DelegationVerdict { call, payload_bytes, .. } = verdict;
    name == call && *payload_bytes <= 1
        || name.strip_prefix(call.as_str()) == Some(&format!("({payload_bytes})"))
}

fn is_time(time: Ns) -> bool {
    time.is_finite() && time > Ns::ZERO
}

/// What a section has on one call.
struct Evidence {
    footprint_kib: Option<f64>,
    warm_over_cold: Option<f64>,
    steady_over_cold: Option<f64>,
    /// Warm time as programs issue the call, through the C library where that was measured.
    issued: Option<Ns>,
    /// Warm time in the quicker form, as a core would execute it that does nothing else.
    there_warm: Option<Ns>,
    /// How many bytes the walk touches, its extra time, and whether that exceeds its uncertainty; `None` where there are
    /// too few samples to tell.
    damage: Option<(u64, Ns, Option<bool>)>,
}

impl Evidence {
    fn of(calls: &Calls, name: &str) -> Self {
        let rows: Vec<&Call> = calls.calls.iter().filter(|call| call.name == name).collect();
        let damage: Vec<&Damage> = calls.damage.iter().filter(|damage| damage.name == name).collect();
        Self::of_rows(calls, &rows, &damage)
    }

    /// By the rows and the damage of one call.
    fn of_rows(calls: &Calls, rows: &[&Call], damage: &[&Damage]) -> Self {
        // As programs issue it first.
        let forms: Vec<Form<'_>> = [true, false].map(|wrapped| Form::of(rows, wrapped)).to_vec();
        let warm = || forms.iter().filter_map(|form| form.time(CacheState::Warm));
        let nearest = damage
            .iter()
            .filter_map(|damage| Some((damage.set_bytes, damage.ns.as_ref()?)))
            .filter(|(_, ns)| ns.median.is_finite())
            .min_by_key(|(bytes, _)| bytes.abs_diff(WORKING_SET_BYTES));
        // As the paper counts: of a system call what the kernel does, not the C library's way around it.
        let is_system_call = rows.iter().any(|call| call.set == "syscalls");
        let mut as_paper = forms.clone();
        if is_system_call {
            as_paper.reverse();
        }
        let over_cold = |state| as_paper.iter().find_map(|form| form.over_cold(state));
        Self {
            footprint_kib: match calls.method {
                CallMethod::Pmu => forms.iter().find_map(Form::missed_kib),
                CallMethod::Timing => timed_kib(rows),
            },
            warm_over_cold: over_cold(CacheState::Second),
            steady_over_cold: over_cold(CacheState::Warm),
            issued: warm().next(),
            there_warm: warm().min_by(Ns::total_cmp),
            // Less than nothing is noise.
            damage: nearest.map(|(bytes, ns)| {
                let is_few = ns.n > 1 && !ns.has_interval();
                let is_told = (!is_few).then_some(ns.low > 0.0 || ns.n <= 1);
                (bytes, Ns(ns.median).max(Ns::ZERO), is_told)
            }),
        }
    }

    fn cost(&self, name: &str, channel_ns: Option<Ns>, decided: Option<&DelegationVerdict>) -> CallCost {
        let cost_ns = self.issued.zip(self.damage).map(|(issued, (_, damage, _))| issued + damage);
        CallCost {
            name: name.to_owned(),
            footprint_kib: self.footprint_kib,
            warm_over_cold: self.warm_over_cold,
            steady_over_cold: self.steady_over_cold,
            cost_ns,
            set_bytes: self.damage.map(|(bytes, ..)| bytes),
            channel_ns,
            channel_holds: None,
            why: match decided {
                _ if OF_THE_THREAD.contains(&name) => OWN.to_owned(),
                None => self.words(channel_ns, UNDECIDED),
                Some(verdict) => self.words(channel_ns, &verdict.why),
            },
        }
    }

    /// The figures in words, and what is not known.
    fn words(&self, channel: Option<Ns>, decided: &str) -> String {
        let whole = |time: Ns| with_minus(format!("{:.0} ns", time.0));
        // The times of a damaged profile may add up to infinity.
        let ns =
            |time: Option<Ns>| time.filter(|time| time.0.is_finite()).map_or("not measured".into(), whole);
        let damage = match self.damage {
            Some((bytes, _, Some(false))) => {
                format!("damage to {} KiB not beyond noise", bytes.div_ceil(1024))
            }
            Some((bytes, damage, told)) => {
                let few = if told.is_none() { " from too few samples for an interval" } else { "" };
                format!("damage to {} KiB {}{few}", bytes.div_ceil(1024), whole(damage))
            }
            None => "damage not measured".to_owned(),
        };
        format!(
            "warm call {}, {damage}; on another core, warm call {}, messages there and back {}; {decided}",
            ns(self.issued),
            ns(self.there_warm),
            ns(channel),
        )
    }
}

/// Why the figures decide nothing yet.
const UNDECIDED: &str = "not decided: what a call costs at home by footprint has not been measured";

/// Why a call of [`OF_THE_THREAD`] stays.
const OWN: &str = "never: the call acts on the thread that makes it";

/// The rows of a call in one form: through the C library's function, or bare.
#[derive(Clone)]
struct Form<'a>(Vec<&'a Call>);

impl<'a> Form<'a> {
    fn of(rows: &[&'a Call], wrapped: bool) -> Self {
        Self(rows.iter().copied().filter(|call| call.wrapped == wrapped).collect())
    }

    /// A figure over both sides: that of the row that does not tell them apart, or the sum of those that do. `None` if
    /// a side lacks it; but for a system call the kernel's side is enough, as in the paper, and nothing is without it.
    fn sum(&self, state: CacheState, figure: impl Fn(&Call) -> Option<&Estimate>) -> Option<f64> {
        let value = |call: &Call| figure(call).map(|estimate| estimate.median).filter(|v| v.is_finite());
        let rows = || self.0.iter().copied().filter(|call| call.state == state);
        if let Some(both) = rows().filter(|call| call.side == Side::Both).find_map(value) {
            return Some(both);
        }
        let side = |side| rows().find(move |call| call.side == side);
        let (user, kernel) = (side(Side::User), side(Side::Kernel));
        let function = user.or(kernel).is_some_and(|call| matches!(&*call.set, "libc" | "mpi"));
        match (user, kernel) {
            (Some(user), Some(kernel)) if function => Some(value(user)? + value(kernel)?),
            (Some(user), None) if function => value(user),
            (user, kernel) => Some(value(kernel?)? + user.and_then(value).unwrap_or(0.0)),
        }
    }

    fn time(&self, state: CacheState) -> Option<Ns> {
        self.sum(state, |call| call.ns.as_ref()).map(Ns).filter(|time| is_time(*time))
    }

    fn over_cold(&self, state: CacheState) -> Option<f64> {
        let ratio = |of: &dyn Fn(CacheState) -> Option<f64>| {
            Some(of(state)? / of(CacheState::Cold).filter(|cold| *cold > 0.0)?)
        };
        ratio(&|state| self.sum(state, |call| call.counts.CYCLE.as_ref()))
            .or_else(|| ratio(&|state| Some(self.time(state)?.0)))
    }

    /// Lines that a cold call missed in the level-2 cache, in KiB.
    fn missed_kib(&self) -> Option<f64> {
        let lines = self.sum(CacheState::Cold, |call| call.counts.L2M.as_ref())?;
        Some(lines * LINE_BYTES / 1024.0)
    }
}

/// Data that the call uses in the level-1 cache, and the code that it runs in user mode where that was told, in KiB.
fn timed_kib(rows: &[&Call]) -> Option<f64> {
    let data = rows.iter().find_map(|call| call.footprint_lines.as_ref())?.median.max(0.0);
    let code = rows.iter().find_map(|call| call.code_lines).unwrap_or(0);
    data.is_finite().then(|| (data + code as f64) * LINE_BYTES / 1024.0)
}
