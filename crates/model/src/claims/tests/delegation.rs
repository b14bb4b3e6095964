//! Claims on calls that another core executes.

use coho_profile::{Affinity, Batch, Channel, Footprint, HostLast, Method};

use super::*;

const L2: u64 = 512 << 10;

/// A call whose gains and ratios are these at every footprint.
fn measured(change: impl Fn(&mut Calls)) -> Profile {
    let row = |call: &str, payload_bytes: u64, bytes: u64, gain: f64| Footprint {
        call: call.into(),
        payload_bytes,
        bytes,
        callers: 1,
        gain_ns: figure(gain, 0.001),
        ..Footprint::default()
    };
    let mut footprint = Vec::new();
    for bytes in [8 << 10, 2 * L2, 64 << 20] {
        footprint.extend(["getpid", "gettimeofday"].map(|call| row(call, 0, bytes, -150.0)));
        footprint.extend(["stat", "open"].map(|call| row(call, 0, bytes, 400.0)));
        footprint.extend([row("write", 1, bytes, 400.0), row("write", 64 << 10, bytes, -900.0)]);
    }
    let affinity = [("stat", 0), ("open", 0), ("write", 1)].map(|(call, payload_bytes)| Affinity {
        call: call.into(),
        payload_bytes,
        filesystem: None,
        host_last: HostLast::Other,
        host_idle_ns: 0.0,
        ns: figure(900.0, 0.001).unwrap(),
        over_warm: figure(1.4, 0.001),
    });
    let batch = |requests, ns| Batch { requests, ns: figure(ns, 0.001) };
    let conditions = Method { parameters: [("l2_bytes".to_owned(), L2.into())].into(), ..Method::default() };
    let mut calls = Calls {
        footprint,
        affinity: affinity.to_vec(),
        channel: vec![Channel { batches: vec![batch(1, 130.0), batch(32, 30.0)], ..Channel::default() }],
        footprint_conditions: Some(conditions),
        ..Calls::default()
    };
    change(&mut calls);
    Profile { calls: Some(calls), ..Profile::default() }
}

fn gain(call: &'static str, payload_bytes: u64) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        measured(|calls| {
            let own = |row: &&mut Footprint| row.call == call && row.payload_bytes == payload_bytes;
            calls.footprint.iter_mut().filter(own).for_each(|row| row.gain_ns = around(value, known_to));
        })
    }
}

/// A figure known to so many ns, as one that may be 0 is.
fn around(value: f64, known_to: f64) -> Option<Estimate> {
    let (low, high) = (value - 1000.0 * known_to, value + 1000.0 * known_to);
    Some(Estimate { low, high, n: 100, stable: Some(true), ..Estimate::exact(value) })
}

pub(super) fn claims() -> Vec<String> {
    let after_others =
        |value, known_to| measured(|calls| calls.affinity[1].over_warm = figure(value, known_to));
    let batched =
        |value, known_to| measured(|calls| calls.channel[0].batches[1].ns = figure(130.0 * value, known_to));
    vec![
        three("getpid and gettimeofday cost", gain("getpid", 0), -150.0, 90.0),
        three("stat, open and write cost", gain("open", 0), 400.0, -300.0),
        three("A core executes", after_others, 1.4, 0.8),
        three("A request to another core", batched, 0.3, 1.4),
        three("Writing 64 KiB gains", gain("write", 64 << 10), 100.0, 900.0),
    ]
}

#[test]
fn one_cpu_is_no_reason_to_measure_again() {
    let alone = measured(|calls| {
        let why = "not available: another core needs a second CPU, and the run has one";
        let conditions = calls.footprint_conditions.as_mut().unwrap();
        conditions.not_available.insert("away".into(), why.into());
    });
    let told = the("stat, open and write cost", &judge(&alone));
    assert_eq!((told.verdict, &told.measure), (Verdict::CannotBeTold, &None));
    assert!(told.why.starts_with("another core needs a second CPU"), "{}", told.why);
}
