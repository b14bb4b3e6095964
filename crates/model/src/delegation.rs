//! Which calls another core should execute (paper 2): what a call costs its caller, against a message there and back.
//!
//! Delegated synchronously, a call costs its caller the message there, the call itself executed warm on the other
//! core, and the message back; what is saved is the damage to the caller's caches and the return through a wrapper.
//! Delegated asynchronously, with work to do meanwhile, it costs the message there alone.

use coho_profile::{CacheState, Call, CallMethod, Calls, Coherence, Estimate, Judgement, PairMethod, Side};

/// Size of a line, in bytes: of all CPUs that are measured here.
const LINE_BYTES: f64 = 64.0;
/// The working set whose damage is judged, in bytes, or the nearest that was measured: most of the usual level-1 data
/// cache, as a loop that was tuned to it has.
const WORKING_SET_BYTES: u64 = 24 << 10;
/// Costs that differ by less than this share are called even.
const EVEN: f64 = 0.1;
/// Calls that mean the very thread that calls: nobody can make them for it.
const OF_THE_THREAD: [&str; 2] = ["sched_yield", "gettid"];

/// Fills `judgements`: one for each call that was measured, in the order of the calls. What is not known stays `None`,
/// and `why` says what it is.
///
/// The channel's cost comes from `coherence` ([`channel_ns`]); without, nothing is said of delegation.
///
/// ```
/// let paper = coho_profile::published::read("shimosawa-hori-ishikawa")?;
/// let mut calls = paper.machines[0].1.calls.clone().unwrap();
/// coho_model::delegation::judge(&mut calls, None);
/// let write = calls.judgements.iter().find(|call| call.name == "write").unwrap();
/// assert_eq!(write.footprint_kib, Some(405.0 * 64.0 / 1024.0));
/// assert_eq!(write.worth_delegating, None); // The paper leaves the channel's cost for later.
/// # Ok::<(), coho_profile::Error>(())
/// ```
pub fn judge(calls: &mut Calls, coherence: Option<&Coherence>) {
    let channel = coherence.and_then(channel_ns);
    let mut names: Vec<&str> = Vec::new();
    for call in &calls.calls {
        if !names.contains(&call.name.as_str()) {
            names.push(&call.name);
        }
    }
    let judgements = names.into_iter().map(|name| Evidence::of(calls, name).judge(name, channel)).collect();
    calls.judgements = judgements;
}

/// What a message to another core and its answer cost, in ns, between the nearest two CPUs; `None` if neither `flags`
/// nor `turn` was measured.
///
/// A message is a plain store that the other side waits for with plain loads, so a step of `flags` is one way: the
/// receiver's load fetches the line and the next store takes it back, two transfers. `turn`, where one transfer is a
/// step, counts twice. (On a Zen 3 with 63 ns a step of `flags` and 26 to 35 ns of `turn`, a mailbox of one line took
/// 130 to 140 ns there and back.) Free-running increments are no messages.
pub fn channel_ns(coherence: &Coherence) -> Option<f64> {
    let nearest = |method: PairMethod| {
        let mine = coherence.pairs.iter().filter(|pair| pair.method == method).map(|pair| pair.ns.median);
        mine.filter(|ns| is_time(*ns)).min_by(f64::total_cmp)
    };
    let one_way = nearest(PairMethod::Flags).or_else(|| Some(2.0 * nearest(PairMethod::Turn)?));
    one_way.map(|ns| 2.0 * ns)
}

/// What a call costs warm, in ns, as programs issue it: through the C library where that was measured.
pub fn issued_ns(calls: &Calls, name: &str) -> Option<f64> {
    Evidence::of(calls, name).issued_ns
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// What a section has on one call.
struct Evidence {
    footprint_kib: Option<f64>,
    warm_over_cold: Option<f64>,
    /// Warm time as programs issue the call, through the C library where that was measured, in ns.
    issued_ns: Option<f64>,
    /// Warm time in the quicker form, as a core would execute it that does nothing else, in ns.
    there_warm_ns: Option<f64>,
    /// Extra time of the walk over `set_bytes`, in ns.
    damage: Option<(u64, f64)>,
}

impl Evidence {
    fn of(calls: &Calls, name: &str) -> Self {
        let rows: Vec<&Call> = calls.calls.iter().filter(|call| call.name == name).collect();
        // As programs issue it first.
        let forms: Vec<Form<'_>> = [true, false].map(|wrapped| Form::of(&rows, wrapped)).to_vec();
        let warm = || forms.iter().filter_map(|form| form.ns(CacheState::Warm));
        let nearest = calls
            .damage
            .iter()
            .filter(|damage| damage.name == name)
            .filter_map(|damage| Some((damage.set_bytes, damage.ns.as_ref()?.median)))
            .filter(|(_, ns)| ns.is_finite())
            .min_by_key(|(bytes, _)| bytes.abs_diff(WORKING_SET_BYTES));
        Self {
            footprint_kib: match calls.method {
                CallMethod::Pmu => forms.iter().find_map(Form::missed_kib),
                CallMethod::Timing => timed_kib(&rows),
            },
            warm_over_cold: forms.iter().find_map(Form::warm_over_cold),
            issued_ns: warm().next(),
            there_warm_ns: warm().min_by(f64::total_cmp),
            // Less than nothing is noise.
            damage: nearest.map(|(bytes, ns)| (bytes, ns.max(0.0))),
        }
    }

    fn judge(&self, name: &str, channel_ns: Option<f64>) -> Judgement {
        let cost_ns = self.issued_ns.zip(self.damage).map(|(ns, (_, damage))| ns + damage);
        let there_ns = channel_ns.zip(self.there_warm_ns).map(|(channel, bare)| channel + bare);
        let bound = OF_THE_THREAD.contains(&name);
        let worth = cost_ns.zip(there_ns).map(|(cost, there)| cost > there && !bound);
        Judgement {
            name: name.to_owned(),
            footprint_kib: self.footprint_kib,
            warm_over_cold: self.warm_over_cold,
            cost_ns,
            set_bytes: self.damage.map(|(bytes, _)| bytes),
            channel_ns,
            worth_delegating: worth,
            why: if bound { OWN.to_owned() } else { self.words(cost_ns, channel_ns) },
        }
    }

    /// The figures in words: synchronous first, then asynchronous.
    fn words(&self, cost_ns: Option<f64>, channel_ns: Option<f64>) -> String {
        let (Some(issued), Some(bare)) = (self.issued_ns, self.there_warm_ns) else {
            return "not judged: the warm call's time is not known".into();
        };
        let (Some(cost), Some((bytes, damage))) = (cost_ns, self.damage) else {
            return "not judged: the damage to the caller's caches is not known".into();
        };
        let here = format!(
            "here {cost:.0} ns (call {issued:.0}, damage to {} KiB {damage:.0})",
            bytes.div_ceil(1024)
        );
        let Some(channel) = channel_ns else {
            return format!(
                "{here}; not judged: no `flags` or `turn` of coherence tells what a message costs"
            );
        };
        let there = channel + bare;
        let saved = (cost - there) / cost;
        let verdict = match () {
            () if saved.abs() < EVEN => "about even".to_owned(),
            () if saved > 0.0 => format!("saves {:.0} %", 100.0 * saved),
            () => format!("loses {:.0} %", -100.0 * saved),
        };
        let post = channel / 2.0;
        let overlapped = if post < cost {
            format!("without waiting, the message alone, {post:.0} ns, with {there:.0} ns of work to overlap")
        } else {
            "without waiting the message alone costs as much".to_owned()
        };
        format!(
            "{here}; elsewhere, waiting, {there:.0} ns (messages {channel:.0}, warm call {bare:.0}): {verdict}; {overlapped}"
        )
    }
}

/// Why a call of [`OF_THE_THREAD`] stays.
const OWN: &str = "never: the call means the thread that makes it";

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

    fn ns(&self, state: CacheState) -> Option<f64> {
        self.sum(state, |call| call.ns.as_ref()).filter(|ns| is_time(*ns))
    }

    fn warm_over_cold(&self) -> Option<f64> {
        let ratio = |of: &dyn Fn(CacheState) -> Option<f64>| {
            Some(of(CacheState::Warm)? / of(CacheState::Cold).filter(|cold| *cold > 0.0)?)
        };
        ratio(&|state| self.sum(state, |call| call.counts.CYCLE.as_ref()))
            .or_else(|| ratio(&|state| self.ns(state)))
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
