//! The curves' verdicts as a list of choices: which calls to delegate, in which mode, from which footprint on, and the gain.

use coho_profile::{Calls, Estimate, Ns};
use serde::Serialize;

use super::verdict::rows;
use super::{Decision, DelegationVerdict, taken};
use crate::chance::{Family, Order};

/// Whether the caller of a call on another core waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It waits for the answer.
    Sync,
    /// It works on while the call is made.
    Async,
}

/// What the curve of one call says of one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// The call.
    pub call: String,
    /// Bytes that it moves; 0 where it moves none.
    pub payload_bytes: u64,
    /// How the caller leaves it to another core.
    pub mode: Mode,
    /// The least footprint, in bytes, at which it pays and at every larger one measured; `null` if it is not shown to pay.
    pub from_footprint_bytes: Option<u64>,
    /// The gain; a loss is below zero. A caller that waits gains it at that footprint; one that works on gains at least
    /// this at every footprint. Where it does not pay, the gain at the largest footprint or with the most work.
    pub gain_ns: Option<Ns>,
    /// The ends of that gain's 95 % interval.
    pub gain_low_ns: Option<Ns>,
    /// See `gain_low_ns`.
    pub gain_high_ns: Option<Ns>,
    /// The gain with all that is known of it.
    #[serde(skip)]
    pub gain: Option<Estimate>,
    /// The least work that must overlap with the call; `null` where the caller waits.
    pub from_work_ns: Option<Ns>,
    /// What the intervals say.
    pub decision: Decision,
    /// The file system of its file; `null` where it has none.
    pub filesystem: Option<String>,
    /// The condition under which it was measured: how far apart the two CPUs were.
    pub condition: String,
    /// Its name in `coho run --delegate`; `null` if that does not take it.
    pub delegate: Option<&'static str>,
}

/// The choices that follow from a section's [verdicts](super::judge), two for each, in the verdicts' order.
///
/// ```
/// use coho_model::delegation::{Decision, DelegationVerdict, choices};
/// use coho_profile::{Calls, Estimate, Ns};
/// let verdict = DelegationVerdict {
///     call: "stat".into(),
///     decision: Decision::From,
///     from_footprint_bytes: Some(1 << 20),
///     gain_ns: Some(Estimate::exact(700.0)),
///     ..DelegationVerdict::default()
/// };
/// let choices = choices(&Calls::default(), &[verdict]);
/// assert_eq!((choices[0].from_footprint_bytes, choices[0].gain_ns), (Some(1 << 20), Some(Ns(700.0))));
/// assert_eq!(choices[1].from_footprint_bytes, None);
/// ```
pub fn choices(calls: &Calls, verdicts: &[DelegationVerdict]) -> Vec<Choice> {
    let mut choices = Vec::new();
    for verdict in verdicts {
        let posted = || rows(calls).filter(|row| verdict.is_on(row) && row.async_gain_ns.is_some());
        let pays_posted = verdict.async_decision == Decision::From;
        let both = [
            (Mode::Sync, verdict.decision, verdict.from_footprint_bytes, &verdict.gain_ns, None),
            (
                Mode::Async,
                verdict.async_decision,
                // It pays at every footprint or is not said to.
                posted().map(|row| row.bytes).min().filter(|_| pays_posted),
                &verdict.async_gain_ns,
                verdict.async_from_work_ns,
            ),
        ];
        choices.extend(both.map(|(mode, decision, from_footprint_bytes, gain, from_work_ns)| Choice {
            call: verdict.call.clone(),
            payload_bytes: verdict.payload_bytes,
            mode,
            from_footprint_bytes,
            gain_ns: gain.as_ref().map(|gain| Ns(gain.median)),
            gain_low_ns: gain.as_ref().map(|gain| Ns(gain.low)),
            gain_high_ns: gain.as_ref().map(|gain| Ns(gain.high)),
            gain: gain.clone(),
            from_work_ns,
            decision,
            filesystem: verdict.filesystem.clone(),
            condition: verdict.mode.clone(),
            delegate: taken(&verdict.call, mode),
        }));
    }
    choices
}

/// The calls by which a caller that waits gains beyond chance at some footprint, each once, in the rows' order; `None` if no
/// gain was measured.
pub fn gaining(calls: &Calls) -> Option<Vec<&str>> {
    let measured: Vec<_> = rows(calls).filter_map(|row| Some((row, row.gain_ns.as_ref()?))).collect();
    let family = Family::of(measured.len());
    let mut names: Vec<&str> = Vec::new();
    for (row, gain) in &measured {
        if family.compare_to(gain, 0.0) == Order::More && !names.contains(&row.call.as_str()) {
            names.push(&row.call);
        }
    }
    (!measured.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Footprint, Method};

    use super::super::judge;
    use super::*;

    fn row(call: &str, bytes: u64, gain: f64) -> Footprint {
        let about = |ns: f64| Estimate {
            low: ns - 10.0,
            high: ns + 10.0,
            min: ns - 15.0,
            n: 12,
            ..Estimate::exact(ns)
        };
        Footprint {
            call: call.into(),
            payload_bytes: 1,
            bytes,
            callers: 1,
            home_ns: Some(about(1000.0)),
            away_ns: Some(about(1000.0 - gain)),
            gain_ns: Some(about(gain)),
            async_gain_ns: Some(about(gain + 500.0)),
            work_ns: Some(about(2000.0)),
            ..Footprint::default()
        }
    }

    /// The choices by rows whose calls were posted beside 2 us of work.
    fn choices_by(rows: Vec<Footprint>) -> Vec<Choice> {
        let works = ("works_ns".to_owned(), serde_json::json!([2000.0]));
        let conditions = Method { parameters: [works].into(), ..Method::default() };
        let calls = Calls { footprint: rows, footprint_conditions: Some(conditions), ..Calls::default() };
        choices(&calls, &judge(&calls, None).verdicts)
    }

    #[test]
    fn each_mode_has_its_own_footprint_and_gain() {
        let curve = [(8 << 10, -200.0), (1 << 20, 300.0), (64 << 20, 400.0)];
        let choices = choices_by(curve.map(|(bytes, gain)| row("write", bytes, gain)).into());
        let [waits, posts] = &choices[..] else { panic!("two modes") };
        assert_eq!(
            (waits.mode, waits.from_footprint_bytes, waits.gain_ns),
            (Mode::Sync, Some(1 << 20), Some(Ns(300.0)))
        );
        assert_eq!((waits.gain_low_ns, waits.from_work_ns), (Some(Ns(290.0)), None));
        assert_eq!(
            (posts.mode, posts.from_footprint_bytes, posts.gain_ns),
            (Mode::Async, Some(8 << 10), Some(Ns(300.0)))
        );
        assert_eq!(posts.from_work_ns, Some(Ns(2000.0)));
    }

    #[test]
    fn what_is_not_shown_to_pay_has_no_footprint() {
        for choice in choices_by(vec![row("getpid", 8 << 10, -700.0)]) {
            assert_eq!((choice.decision, choice.from_footprint_bytes), (Decision::Never, None));
            assert!(choice.gain_ns.is_some_and(|gain| gain < Ns::ZERO), "{choice:?}");
        }
    }

    #[test]
    fn a_call_gains_where_one_footprint_shows_it_beyond_chance() {
        let mut calls = Calls::default();
        assert_eq!(gaining(&calls), None);
        let rows = [
            ("write", 1, 300.0),
            ("write", 2, -100.0),
            ("stat", 1, 5.0),
            ("open", 1, -50.0),
            ("read", 9, 90.0),
        ];
        calls.footprint = rows.map(|(call, bytes, gain)| row(call, bytes, gain)).into();
        assert_eq!(gaining(&calls), Some(vec!["write", "read"]));
        // Of a hundred gains of 11 ± 10 ns, some would be found where there is none.
        calls.footprint = vec![row("stat", 1, 11.0)];
        assert_eq!(gaining(&calls), Some(vec!["stat"]));
        calls.footprint = (1..=100).map(|bytes| row("stat", bytes, 11.0)).collect();
        assert_eq!(gaining(&calls), Some(vec![]));
    }
}
