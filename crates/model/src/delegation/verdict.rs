//! From which footprint on another core should execute a call, and from how much work on that overlaps with it.

use std::collections::HashMap;

use coho_profile::{Calls, Coherence, Estimate, Footprint, Ns, PairMethod, SAME_MODE};
use serde_json::Value;

use super::{CurvePoint, Decision, DelegationVerdict, Mode, curve, taken};
use crate::chance::{CHANCE, Family, Order};
use crate::signs::{between, with_minus};
use crate::words::{passes, tenths, window};

/// How many footprints that follow each other show a gain: the one at the largest alone may be chance, or noise of walks
/// over memory.
const NEIGHBOURS: usize = 2;

/// A gain at a point of a curve, and how sure it has to be.
#[derive(Clone, Copy)]
struct Gain<'a> {
    bytes: u64,
    ns: &'a Estimate,
    family: Family,
}

impl Gain<'_> {
    /// 1 for a gain beyond chance, −1 for a loss, else 0.
    fn sign(&self) -> i32 {
        match self.family.compare_to(self.ns, 0.0) {
            Order::More => 1,
            Order::Less => -1,
            Order::Open | Order::TooFew => 0,
        }
    }

    fn is_of_too_few(&self) -> bool {
        self.family.compare_to(self.ns, 0.0) == Order::TooFew
    }
}

/// A verdict for each call, payload and file system whose curve was measured both at home and away.
pub(super) fn verdicts(
    calls: &Calls,
    coherence: Option<&Coherence>,
    predicted: &[CurvePoint],
) -> Vec<DelegationVerdict> {
    let mut order: Vec<&Footprint> = Vec::new();
    let mut curves: HashMap<_, Vec<&Footprint>> = HashMap::new();
    for row in rows(calls) {
        let curve = curves.entry(row.call_key()).or_default();
        if curve.is_empty() {
            order.push(row);
        }
        curve.push(row);
    }
    let has_gain = |curve: &&Vec<&Footprint>| curve.iter().any(|row| row.gain_ns.is_some());
    let curves: Vec<_> = order.into_iter().map(|first| &curves[&first.call_key()]).filter(has_gain).collect();
    // A test takes all of the larger footprints, so a call in a mode is one.
    let tests = curves.iter().map(|curve| {
        let posted = curve.iter().any(|row| row.async_gain_ns.is_some()).then_some(Mode::Async);
        let modes = Some(Mode::Sync).into_iter().chain(posted);
        modes.filter(|mode| taken(&curve[0].call, *mode).is_some()).count()
    });
    let tests = tests.sum::<usize>();
    let family = Family::of(tests);
    let together = match tests {
        0 => "no call that can be delegated".to_owned(),
        1 => "one gain tested".to_owned(),
        _ => format!("{tests} gains tested"),
    };
    let mode = format!(
        "{}; {together}, at {:.0} % for all together (Bonferroni)",
        mode(calls, coherence),
        100.0 * CHANCE
    );
    curves.iter().map(|curve| verdict(calls, curve, &mode, family, predicted)).collect()
}

/// The condition under which all verdicts hold; `None` where there are none.
pub(crate) fn condition(calls: &Calls, coherence: Option<&Coherence>) -> Option<String> {
    rows(calls).any(|row| row.gain_ns.is_some()).then(|| mode(calls, coherence))
}

/// The rows of one caller that has used data alone.
pub(super) fn rows(calls: &Calls) -> impl Iterator<Item = &Footprint> {
    calls.footprint.iter().filter(|row| row.is_of_curve())
}

fn verdict(
    calls: &Calls,
    own: &[&Footprint],
    mode: &str,
    family: Family,
    predicted: &[CurvePoint],
) -> DelegationVerdict {
    let first = own[0];
    let mut gains: Vec<Gain<'_>> = own
        .iter()
        .filter_map(|row| Some(Gain { bytes: row.bytes, ns: row.gain_ns.as_ref()?, family }))
        .collect();
    gains.sort_by_key(|gain| gain.bytes);
    gains.dedup_by_key(|gain| gain.bytes);
    let signs: Vec<_> = gains.iter().map(Gain::sign).collect();
    let (decision, at) = decide(taken(&first.call, Mode::Sync), &signs, NEIGHBOURS);
    let shown = at.or(gains.len().checked_sub(1)).map(|at| gains[at]);
    let posted = posted(calls, own, family);
    let prediction = |row: &Footprint| {
        let is_its = |point: &&CurvePoint| {
            (&point.call, point.payload_bytes, &point.filesystem, point.bytes)
                == (&row.call, row.payload_bytes, &row.filesystem, row.bytes)
        };
        predicted.iter().find(is_its)
    };
    let error = |predict: fn(&CurvePoint) -> Option<Ns>, measure: fn(&Footprint) -> Option<&Estimate>| {
        let pair = |row: &&Footprint| Some((predict(prediction(row)?)?, Ns(measure(row)?.median)));
        curve::error(own.iter().filter_map(pair))
    };
    DelegationVerdict {
        call: first.call.clone(),
        payload_bytes: first.payload_bytes,
        filesystem: first.filesystem.clone(),
        mode: mode.to_owned(),
        decision,
        from_footprint_bytes: at.map(|at| gains[at].bytes),
        gain_ns: shown.map(|gain| gain.ns.clone()),
        async_decision: posted.decision,
        async_from_work_ns: posted.from_work,
        async_gain_ns: posted.gain.clone(),
        home_error: error(|point| point.home_ns, |row| row.home_ns.as_ref()),
        away_error: error(|point| point.away_ns, |row| row.away_ns.as_ref()),
        why: format!("{}; {}; {mode}", waiting(decision, at, &gains), posted.words()),
    }
}

/// From which of these points on, which are in their order, it pays: of a call that is taken under some name, and where so
/// many points show it.
fn decide(name: Option<&str>, signs: &[i32], fewest: usize) -> (Decision, Option<usize>) {
    let from = signs.iter().rposition(|sign| *sign <= 0).map_or(0, |last| last + 1);
    match signs {
        [] => (Decision::Undecided, None),
        _ if signs.iter().all(|sign| *sign < 0) => (Decision::Never, None),
        _ if name.is_none() => (Decision::Untaken, None),
        _ if signs.len() - from >= fewest => (Decision::From, Some(from)),
        _ => (Decision::Undecided, None),
    }
}

/// Why a gain of the other core is no advice.
const UNTAKEN: &str = "not tested: `coho run --delegate` does not take it";

/// The decision in words, for a caller that waits.
fn waiting(decision: Decision, at: Option<usize>, gains: &[Gain<'_>]) -> String {
    let (Some(first), Some(last)) = (gains.first(), gains.last()) else { return "not measured".into() };
    let range = format!("{} to {}", bytes(first.bytes), bytes(last.bytes));
    match (decision, at) {
        (Decision::From, Some(at)) => {
            format!(
                "on another core from {} on, where it gains {}",
                bytes(gains[at].bytes),
                interval(gains[at].ns)
            )
        }
        (Decision::Never, _) => {
            let ends = gains.iter().filter_map(|gain| gain.family.ends(gain.ns));
            let least = ends.map(|(_, most)| -most).fold(f64::INFINITY, f64::min);
            format!(
                "never within what was measured ({range}): another core costs at least {least:.0} ns more"
            )
        }
        (Decision::Untaken, _) => UNTAKEN.to_owned(),
        _ if gains.iter().all(Gain::is_of_too_few) => {
            format!("undecided: too few passes to tell a gain from chance ({range})")
        }
        _ => {
            let sizes = gains.iter().filter(|gain| gain.sign() > 0).map(|gain| bytes(gain.bytes));
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            let pays = (!sizes.is_empty()).then(|| format!("pays only at {sizes}"));
            let open = gains.iter().filter(|gain| gain.sign() == 0).count();
            let open = (open > 0)
                .then(|| format!("a gain or loss may be chance at {open} of {} footprints", gains.len()));
            let parts: Vec<String> = pays.into_iter().chain(open).collect();
            format!("undecided ({range}): {}", parts.join(", "))
        }
    }
}

/// A call that is posted.
struct Posted {
    decision: Decision,
    from_work: Option<Ns>,
    gain: Option<Estimate>,
}

/// By the length of the work: it pays where it does at every footprint measured.
fn posted(calls: &Calls, own: &[&Footprint], family: Family) -> Posted {
    let works = calls.footprint_conditions.as_ref().and_then(|method| method.parameters.get("works_ns"));
    let works = works.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64);
    let mut works: Vec<Ns> = works.map(Ns).collect();
    works.sort_by(Ns::total_cmp);
    let nearest = |work: Ns| {
        let far = |index: &usize| (works[*index] - work).abs();
        (0..works.len()).min_by(|a, b| far(a).total_cmp(&far(b)))
    };
    let gains = |index: usize| -> Vec<Gain<'_>> {
        let of = own
            .iter()
            .filter(|row| row.work_ns.as_ref().and_then(|work| nearest(Ns(work.median))) == Some(index));
        of.filter_map(|row| Some(Gain { bytes: row.bytes, ns: row.async_gain_ns.as_ref()?, family }))
            .collect()
    };
    let all: Vec<(Ns, Vec<Gain<'_>>)> = works
        .iter()
        .enumerate()
        .map(|(index, work)| (*work, gains(index)))
        .filter(|(_, gains)| !gains.is_empty())
        .collect();
    let sign = |(_, gains): &(Ns, Vec<Gain<'_>>)| {
        let signs = || gains.iter().map(Gain::sign);
        match (signs().min(), signs().max()) {
            (Some(1), _) if gains.len() >= NEIGHBOURS => 1,
            (_, Some(-1)) => -1,
            _ => 0,
        }
    };
    let signs: Vec<_> = all.iter().map(sign).collect();
    let (decision, at) = decide(taken(&own[0].call, Mode::Async), &signs, 1);
    let least = |at: usize| all[at].1.iter().min_by(|a, b| a.ns.median.total_cmp(&b.ns.median));
    Posted {
        decision,
        from_work: at.map(|at| all[at].0),
        gain: at.or(all.len().checked_sub(1)).and_then(least).map(|gain| gain.ns.clone()),
    }
}

impl Posted {
    fn words(&self) -> String {
        match (self.decision, self.from_work, &self.gain) {
            (Decision::From, Some(work), Some(gain)) => {
                format!(
                    "posted, from {} us of work on at every footprint, where it gains at least {}",
                    us(work),
                    interval(gain)
                )
            }
            (Decision::Never, ..) => "posted, never with the work that was measured".into(),
            (Decision::Untaken, ..) => format!("posted, {UNTAKEN}"),
            (_, _, None) => "not measured posted".into(),
            _ => "posted, undecided: not at every footprint".into(),
        }
    }
}

fn us(time: Ns) -> String {
    let us = time / Ns::US;
    if us.fract() == 0.0 { format!("{us:.0}") } else { format!("{us:.1}") }
}

fn interval(ns: &Estimate) -> String {
    let whole = |value: f64| with_minus(format!("{value:.0}"));
    format!("{} ns ({})", whole(ns.median), between(&whole(ns.low), &whole(ns.high)))
}

pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        mib if mib >= 1 << 20 && mib % (1 << 20) == 0 => format!("{} MiB", mib >> 20),
        kib if kib >= 1 << 10 => format!("{} KiB", kib >> 10),
        small => format!("{small} B"),
    }
}

/// How far apart the two CPUs were in this run, beside what else is known of CPUs of this machine: `CPUs 0 and 1, one-way
/// 26 ns (25–27) by flags, near; 12 passes in 85 s`.
fn mode(calls: &Calls, coherence: Option<&Coherence>) -> String {
    let Some(channel) = calls.channel.first() else {
        return "the distance between the CPUs was not measured".into();
    };
    let pair = format!("CPUs {} and {}", channel.caller, channel.host);
    let Some(one_way) = &channel.one_way_ns else { return pair };
    let steps = coherence.into_iter().flat_map(|coherence| &coherence.pairs);
    let steps = steps.filter(|pair| pair.method == PairMethod::Flags).map(|pair| pair.ns.median);
    let others = calls.channel[1..].iter().filter_map(|other| Some(other.one_way_ns.as_ref()?.median));
    let known: Vec<f64> = steps
        .chain(others)
        .chain(one_way.modes.iter().map(|mode| mode.value))
        .filter(|ns| ns.is_finite() && *ns > 0.0)
        .collect();
    let least = known.iter().copied().fold(one_way.median, f64::min);
    let most = known.iter().copied().fold(one_way.median, f64::max);
    let method = calls.footprint_conditions.as_ref();
    let told = |name: &str| method?.parameters.get(name).and_then(Value::as_u64);
    let other_visits = told("visits_at_one_way_ns").zip(told("visits")).filter(|(kept, all)| kept < all).map(
        |(kept, all)| format!("; {} of {all} visits, made at other distances, do not count", all - kept),
    );
    let distance = if one_way.modes.len() > 1 {
        let modes: Vec<String> = one_way.modes.iter().map(|mode| tenths(mode.value)).collect();
        format!("which jumped between {} ns within the run", modes.join(" and "))
    } else if one_way.high > SAME_MODE * one_way.low {
        "which varied within the run".into()
    } else if most <= SAME_MODE * least && other_visits.is_none() {
        "the only distance known".into()
    } else if most <= SAME_MODE * least {
        "one of several distances".into()
    } else if one_way.median <= SAME_MODE * least {
        "near".into()
    } else {
        "far".into()
    };
    let run = method.map_or_else(String::new, |method| {
        format!("; {} in {}", passes(method.passes), window(method.duration_s))
    });
    format!(
        "{pair}, one-way {} by flags, {distance}{}{run}",
        interval(one_way),
        other_visits.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pays_from_where_nothing_behind_says_otherwise() {
        for (signs, decision, at) in [
            (&[-1, 0, 1, 1][..], Decision::From, Some(2)),
            (&[1, 1], Decision::From, Some(0)),
            (&[-1, 0, -1, 1], Decision::Undecided, None),
            (&[-1, -1], Decision::Never, None),
            (&[-1, 0], Decision::Undecided, None),
            (&[-1, 1, -1], Decision::Undecided, None),
            (&[], Decision::Undecided, None),
        ] {
            assert_eq!(decide(Some("write"), signs, 2), (decision, at), "{signs:?}");
        }
        assert_eq!(decide(None, &[-1, -1], 2), (Decision::Never, None));
        assert_eq!(decide(None, &[1, 1], 2), (Decision::Untaken, None));
    }

    #[test]
    fn sizes_are_told_in_their_unit() {
        assert_eq!([8 << 10, 3 << 19, 64 << 20, 64].map(bytes), ["8 KiB", "1536 KiB", "64 MiB", "64 B"]);
        assert_eq!((us(Ns(500.0)), us(Ns(2000.0)), us(Ns::ZERO)), ("0.5".into(), "2".into(), "0".into()));
    }
}
