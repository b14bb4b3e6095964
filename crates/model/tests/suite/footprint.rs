//! From which footprint on another core should execute a call, by curves whose answer is known.

use coho_model::delegation::{Decision, DelegationVerdict, choices, finding, judge};
use coho_profile::{
    CacheState, Call, Calls, Channel, ChannelPayload, Damage, Estimate, Footprint, HostLast, Method, Mode, Ns,
};
use proptest::prelude::*;
use serde_json::json;

const KIB: u64 = 1 << 10;
const SIZES: [u64; 6] = [8 * KIB, 32 * KIB, 128 * KIB, 512 * KIB, 2048 * KIB, 65_536 * KIB];
const WORKS: [f64; 3] = [0.0, 500.0, 2000.0];

/// A figure of so many passes, known to so much of 100 ns.
fn figure(value: f64, known_to: f64, n: u64) -> Estimate {
    let (low, high) = (value - 100.0 * known_to, value + 100.0 * known_to);
    Estimate { low, high, n, stable: Some(true), ..Estimate::exact(value) }
}

/// A run in which `write` costs this at home and away, by footprint.
fn run(home: [f64; SIZES.len()], away: [f64; SIZES.len()], known_to: f64, n: u64) -> Calls {
    let mut footprint = Vec::new();
    for (index, bytes) in SIZES.into_iter().enumerate() {
        for work in WORKS {
            let posted = (away[index] - work).max(60.0);
            footprint.push(Footprint {
                call: "write".into(),
                payload_bytes: 1,
                filesystem: Some("tmpfs".into()),
                bytes,
                callers: 1,
                host_last: Some(HostLast::Same),
                home_ns: Some(figure(home[index], known_to, n)),
                away_ns: Some(figure(away[index], known_to, n)),
                gain_ns: Some(figure(home[index] - away[index], known_to, n)),
                async_ns: Some(figure(posted, known_to, n)),
                async_gain_ns: Some(figure(home[index] - posted, known_to, n)),
                work_ns: Some(figure(work + 7.0, 0.01, n)),
                ..Footprint::default()
            });
        }
    }
    let parameters = json!({
        "works_ns": WORKS, "l1d_bytes": 32 * KIB, "l2_bytes": 512 * KIB, "last_level_cache_bytes": 32_768 * KIB,
        "load_ns": {"l1d": 1.5, "l2": 4.0, "last": 15.0, "memory": 100.0},
    });
    let parameters = parameters.as_object().unwrap().clone().into_iter().collect();
    Calls {
        footprint,
        channel: vec![Channel {
            caller: 0,
            host: 1,
            one_way_ns: Some(figure(26.0, 0.01, n)),
            round_trip_ns: Some(figure(130.0, 0.01, n)),
            busy_round_trip_ns: Some(figure(160.0, 0.01, n)),
            payloads: vec![ChannelPayload {
                bytes: 64,
                in_place_ns: Some(figure(150.0, 0.01, n)),
                copied_ns: None,
            }],
            ..Channel::default()
        }],
        footprint_conditions: Some(Method { passes: n, duration_s: 60.0, parameters, ..Method::default() }),
        ..Calls::default()
    }
}

fn judged(calls: Calls) -> DelegationVerdict {
    let mut verdicts = judge(&calls, None).verdicts;
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0)
}

#[test]
fn it_pays_from_where_every_larger_footprint_gains() {
    let home = [500.0, 520.0, 700.0, 1200.0, 3000.0, 9000.0];
    let verdict = judged(run(home, [700.0; 6], 0.5, 12));
    assert_eq!((verdict.decision, verdict.from_footprint_bytes), (Decision::From, Some(512 * KIB)));
    assert_eq!(verdict.gain_ns.unwrap().median, 500.0);
    // Posted, 500 ns of work leave 200 ns, which is less than at home everywhere.
    assert_eq!((verdict.async_decision, verdict.async_from_work_ns), (Decision::From, Some(Ns(500.0))));
    assert_eq!(verdict.async_gain_ns.unwrap().median, 300.0);
    assert!(verdict.why.contains("from 512 KiB on, where it gains 500 ns (450–550)"), "{}", verdict.why);
    assert!(verdict.why.contains("from 0.5 us of work on"), "{}", verdict.why);
    assert!(
        verdict.mode.contains("CPUs 0 and 1, one-way 26 ns (25–27) by flags, the only distance known"),
        "{}",
        verdict.mode
    );
    assert!(
        verdict.mode.ends_with("12 passes in 60 s; 2 gains tested, at 5 % for all together (Bonferroni)"),
        "{}",
        verdict.mode
    );
}

#[test]
fn what_always_costs_more_is_never_and_what_varies_is_undecided() {
    let never = judged(run([200.0; 6], [400.0; 6], 0.5, 12));
    assert_eq!((never.decision, never.from_footprint_bytes), (Decision::Never, None));
    assert!(never.why.starts_with("never within what was measured (8 KiB to 64 MiB)"), "{}", never.why);
    assert!(never.why.contains("at least 136 ns more"), "{}", never.why);
    // It gains in the middle alone.
    let middle = judged(run([500.0, 520.0, 900.0, 1500.0, 900.0, 500.0], [700.0; 6], 0.5, 12));
    assert_eq!(middle.decision, Decision::Undecided);
    assert!(middle.why.contains("pays only at 128 KiB, 512 KiB, 2 MiB"), "{}", middle.why);
    let noisy = judged(run([720.0; 6], [700.0; 6], 0.5, 12));
    assert_eq!(noisy.decision, Decision::Undecided);
    assert!(noisy.why.contains("may be chance at 6 of 6"), "{}", noisy.why);
    let few = judged(run([9000.0; 6], [700.0; 6], 0.5, 5));
    assert_eq!((few.decision, few.async_decision), (Decision::Undecided, Decision::Undecided));
    assert!(few.why.starts_with("undecided: too few passes"), "{}", few.why);
}

#[test]
fn a_distance_that_jumped_is_said() {
    let mut calls = run([9000.0; 6], [700.0; 6], 0.5, 12);
    let one_way = calls.channel[0].one_way_ns.as_mut().unwrap();
    one_way.modes = vec![Mode { value: 26.0, share: 0.6 }, Mode { value: 118.0, share: 0.4 }];
    assert!(judged(calls.clone()).mode.contains("jumped between 26.0 and 118 ns within the run"));
    // Too few samples for modes.
    let one_way = calls.channel[0].one_way_ns.as_mut().unwrap();
    one_way.modes.truncate(1);
    (one_way.low, one_way.high) = (26.0, 118.0);
    assert!(judged(calls).mode.contains("which varied within the run"));
}

/// The model gets nothing of the curve that it predicts: curves may be anything.
#[test]
fn the_curve_is_predicted_from_what_was_measured_apart_from_it() {
    let with = |home: f64| {
        let mut calls = run([home; 6], [700.0; 6], 0.5, 12);
        let row = |state, ns: f64| Call {
            name: "write".into(),
            set: "syscalls".into(),
            state,
            ns: Some(Estimate::exact(ns)),
            ..Call::default()
        };
        calls.calls = vec![row(CacheState::Warm, 500.0), row(CacheState::Cold, 10_500.0)];
        calls.damage = vec![Damage {
            name: "write".into(),
            set_bytes: 24 * KIB,
            ns: Some(Estimate::exact(80.0)),
            ..Damage::default()
        }];
        calls.conditions.parameters.insert("filesystem".into(), json!("tmpfs"));
        calls
    };
    let (one, other) = (judge(&with(600.0), None), judge(&with(90_000.0), None));
    assert_eq!(one.predicted, other.predicted);
    let home: Vec<f64> = one.predicted.iter().map(|point| point.home_ns.unwrap().0).collect();
    assert!(home.is_sorted() && home[0] > 580.0 && home[0] < 700.0, "{home:?}");
    assert_eq!(home[5], 10_580.0, "everything comes from memory");
    assert!(one.predicted.iter().all(|point| point.away_ns == Some(Ns(680.0))), "{:?}", one.predicted);
    let error = one.verdicts[0].away_error.unwrap();
    assert!((error - 20.0 / 700.0).abs() < 1e-9, "{error}");
    assert!(other.verdicts[0].home_error.unwrap() > 0.8);
    // Another file system is another call.
    let mut elsewhere = with(600.0);
    elsewhere.conditions.parameters.insert("filesystem".into(), json!("ext4"));
    let elsewhere = judge(&elsewhere, None);
    assert!(elsewhere.predicted.is_empty() && elsewhere.verdicts[0].home_error.is_none());
}

#[test]
fn judgements_and_the_finding_tell_what_the_curves_decide() {
    let mut calls = run([500.0, 520.0, 700.0, 1200.0, 3000.0, 9000.0], [700.0; 6], 0.5, 12);
    assert_eq!(finding(&[]), None);
    calls.calls = vec![Call {
        name: "write".into(),
        set: "syscalls".into(),
        ns: Some(Estimate::exact(500.0)),
        ..Call::default()
    }];
    let judgement = judge(&calls, None);
    let why = &judgement.costs[0].why;
    assert!(why.contains("on another core from 512 KiB on") && !why.contains("not decided"), "{why}");
    let told = finding(&judgement.verdicts).unwrap();
    assert!(told.contains("write from 512 KiB on") && told.contains("one-way 26 ns"), "{told}");
    assert!(told.contains("posted while the caller works on: write from 0.5 us"), "{told}");
}

/// Gains of many calls are tested together: what six passes of one call show, they do not show of one call in nine.
#[test]
fn the_more_gains_are_tested_the_more_passes_they_take() {
    let home = [500.0, 520.0, 700.0, 1200.0, 3000.0, 9000.0];
    let of_calls = |names: &[&str], n| {
        let mut calls = run(home, [700.0; 6], 0.5, n);
        let rows = std::mem::take(&mut calls.footprint);
        let named = |name: &&str| {
            let call = name.to_string();
            rows.iter().map(move |row| Footprint { call: call.clone(), async_gain_ns: None, ..row.clone() })
        };
        calls.footprint = names.iter().flat_map(named).collect();
        judge(&calls, None).verdicts
    };
    let names = ["write", "stat", "open", "close", "read", "pread", "pwrite", "rename", "unlink"];
    assert_eq!(of_calls(&["write"], 6)[0].decision, Decision::From);
    for (n, decision) in [(6, Decision::Undecided), (8, Decision::Undecided), (12, Decision::From)] {
        let verdicts = of_calls(&names, n);
        assert!(verdicts.iter().all(|verdict| verdict.decision == decision), "{n} passes: {verdicts:?}");
        assert!(verdicts[0].mode.contains("9 gains tested"), "{}", verdicts[0].mode);
        let told = finding(&verdicts).unwrap();
        assert_eq!(told.contains("worth it"), n == 12, "{told}");
    }
}

#[test]
fn a_gain_at_the_largest_footprint_alone_is_no_advice() {
    let largest = judged(run([500.0, 520.0, 500.0, 500.0, 500.0, 9000.0], [700.0; 6], 0.5, 12));
    assert_eq!((largest.decision, largest.from_footprint_bytes), (Decision::Undecided, None));
    assert!(largest.why.contains("pays only at 64 MiB"), "{}", largest.why);
    let told = finding(&[largest]).unwrap();
    assert!(!told.contains("worth it") && !told.contains("64 MiB"), "{told}");
}

/// What `coho run --delegate` does not take is no advice, whatever its curve.
#[test]
fn only_what_can_be_delegated_is_advised() {
    for (call, takes_waiting) in [("gettimeofday", false), ("getpid", false), ("stat", true)] {
        let mut calls = run([9000.0; 6], [700.0; 6], 0.5, 12);
        calls.footprint.iter_mut().for_each(|row| row.call = call.into());
        let choices = choices(&calls, &judge(&calls, None).verdicts);
        let expected = if takes_waiting { Decision::From } else { Decision::Untaken };
        assert_eq!([choices[0].decision, choices[1].decision], [expected, Decision::Untaken], "{call}");
        assert_eq!((choices[0].delegate, choices[1].delegate), (takes_waiting.then_some(call), None));
        let told = finding(&[judged(calls)]);
        assert_eq!(told.is_some(), takes_waiting, "{told:?}");
        assert!(!told.unwrap_or_default().contains("posted"), "{call}");
    }
}

proptest! {
    /// No verdict goes beyond its evidence: from a footprint on, every gain is above zero, and two or more are.
    #[test]
    fn a_decision_is_that_of_the_intervals(
        gains in prop::collection::vec((-2000.0f64..2000.0, 0.0f64..900.0), SIZES.len()), n in 5u64..9,
    ) {
        let mut calls = run([1000.0; 6], [700.0; 6], 0.5, 12);
        for row in &mut calls.footprint {
            let (median, half) = gains[SIZES.iter().position(|bytes| *bytes == row.bytes).unwrap()];
            row.gain_ns =
                Some(Estimate { low: median - half, high: median + half, n, ..Estimate::exact(median) });
            row.async_gain_ns = None; // One test: its interval is that of 95 %.
        }
        let verdict = judged(calls);
        let above = |(median, half): &(f64, f64)| n >= Estimate::FEWEST && median - half > 0.0;
        let below = |(median, half): &(f64, f64)| n >= Estimate::FEWEST && median + half < 0.0;
        match verdict.decision {
            Decision::From => {
                let at = SIZES.iter().position(|bytes| Some(*bytes) == verdict.from_footprint_bytes).unwrap();
                prop_assert!(gains[at..].iter().all(above) && at + 1 < SIZES.len());
                prop_assert!(at == 0 || !above(&gains[at - 1]));
            }
            Decision::Never => prop_assert!(gains.iter().all(below)),
            Decision::Undecided => {
                prop_assert!(!gains[SIZES.len() - 2..].iter().all(above) && !gains.iter().all(below));
            }
            Decision::Untaken => prop_assert!(false, "a write is taken"),
        }
    }
}
