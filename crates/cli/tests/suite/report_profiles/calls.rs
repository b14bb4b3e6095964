//! Counters and calls of a machine without performance counters and of one with them.

use std::collections::BTreeMap;

use coho_profile::{
    CacheState, Calibration, Call, CallMethod, Calls, Channel, ClockFacts, ClockOffset, CounterTool,
    Counters, Counts, Damage, Estimate, EventTest, Footprint, HostLast, Method, Profile, Rdpmc, Side,
};

use super::{estimate, two_cpus};

const NAMES: [(&str, &str, f64); 4] = [
    ("getpid", "syscalls", 180.0),
    ("write", "syscalls", 800.0),
    ("sprintf", "libc", 300.0),
    ("read(4096)", "extra", 700.0),
];

fn call(name: &str, set: &str, state: CacheState, wrapped: bool, ns: f64) -> Call {
    let cold = match state {
        CacheState::Cold => 9.0,
        CacheState::Second => 1.6,
        CacheState::Warm => 1.0,
    };
    let ns = Some(estimate(ns * cold * if wrapped { 1.0 } else { 0.7 }));
    Call { name: name.into(), set: set.into(), state, wrapped, ns, ..Call::default() }
}

fn rows() -> Vec<Call> {
    let mut rows = Vec::new();
    for (name, set, ns) in NAMES {
        for state in [CacheState::Cold, CacheState::Second, CacheState::Warm] {
            let forms: &[bool] = if set == "libc" { &[true] } else { &[false, true] };
            rows.extend(forms.iter().map(|&wrapped| call(name, set, state, wrapped, ns)));
        }
    }
    rows
}

fn damage() -> Vec<Damage> {
    let one = |name: &str, kib: u64| Damage {
        name: name.into(),
        set_bytes: kib << 10,
        lines: Some(estimate(20.0)),
        ns: Some(estimate(90.0)),
    };
    NAMES.iter().flat_map(|(name, ..)| [8, 24, 32, 48, 64, 256, 1024].map(|kib| one(name, kib))).collect()
}

fn conditions(missing: &[(&str, &str)]) -> Method {
    let missing = missing.iter().map(|(what, why)| ((*what).to_owned(), (*why).to_owned()));
    Method { not_available: missing.collect(), passes: 5, duration_s: 1.5, ..Method::default() }
}

fn finished(calls: Calls, counters: Counters) -> Profile {
    let mut profile = two_cpus();
    profile.calls = Some(calls);
    profile.counters = Some(counters);
    profile
}

/// What calls cost by their caller's footprint: `write` pays from a size on, `getpid` never.
fn curves(calls: &mut Calls) {
    let about =
        |value: f64| Estimate { low: value - 5.0, high: value + 5.0, n: 12, ..Estimate::exact(value) };
    for (call, payload_bytes, warm, cold) in [("getpid", 0, 150.0, 300.0), ("write", 1, 500.0, 9000.0)] {
        for (step, bytes) in [8u64 << 10, 512 << 10, 64 << 20].into_iter().enumerate() {
            let home = warm + (cold - warm) * step as f64 / 2.0;
            let away = warm + 350.0;
            for work in [0.0, 2000.0] {
                let posted = (away - work).max(60.0);
                calls.footprint.push(Footprint {
                    call: call.into(),
                    payload_bytes,
                    filesystem: (payload_bytes > 0).then(|| "tmpfs".into()),
                    bytes,
                    callers: 1,
                    host_last: Some(HostLast::Same),
                    home_ns: Some(about(home)),
                    away_ns: Some(about(away)),
                    gain_ns: Some(about(home - away)),
                    async_ns: Some(about(posted)),
                    async_gain_ns: Some(about(home - posted)),
                    work_ns: Some(about(work)),
                    ..Footprint::default()
                });
            }
        }
    }
    calls.channel = vec![Channel { caller: 0, host: 1, one_way_ns: Some(about(60.0)), ..Channel::default() }];
    let works = ("works_ns".to_owned(), serde_json::json!([0.0, 2000.0]));
    calls.footprint_conditions = Some(Method {
        parameters: [works].into(),
        ..conditions(&[("assignments", "not available: two callers and two hosts need four CPUs")])
    });
}

/// By time alone, as on a virtual machine whose hypervisor keeps the counters.
pub fn timed() -> Profile {
    let mut calls = rows();
    for call in &mut calls {
        call.footprint_lines = Some(estimate(40.0));
        if call.wrapped {
            call.code_lines = Some(12);
        }
    }
    let calibration = [0u64, 16, 64, 256];
    let calibration =
        calibration.map(|lines| Calibration { lines, evicted: Some(estimate(2.5 * lines as f64)) });
    let missing = [("CYCLE", "not available: time alone does not show it"), ("mpi", "no mpicc")];
    let mut calls = Calls {
        method: CallMethod::Timing,
        conditions: conditions(&missing),
        calls,
        damage: damage(),
        calibration: calibration.to_vec(),
        ..Calls::default()
    };
    curves(&mut calls);
    let tool = |name: &str| CounterTool {
        name: name.into(),
        ns: Some(estimate(310.0)),
        kernel_entries: Some(1.0),
        not_available: Some("the CPU says that it has no counters".into()),
        ..CounterTool::default()
    };
    let counters = Counters {
        method: conditions(&[("PMU", "CPUID leaf 0xA tells version 0")]),
        tools: vec![tool("perf_event read"), tool("perf_event start and stop")],
        rdpmc: Rdpmc { note: Some("#GP".into()), ..Rdpmc::default() },
        cpuid_ns: Some(estimate(1000.0)),
        empty_ns: Some(estimate(20.0)),
        clock: Some(ClockFacts {
            source: "RDTSCP".into(),
            ghz: Some(2.0),
            step_ns: 1.0,
            invariant: Some(true),
            offsets: vec![ClockOffset { cpu: 1, ns: -3.0, uncertainty_ns: 40.0 }],
        }),
        ..Counters::default()
    };
    finished(calls, counters)
}

/// By performance counters that a hypervisor traps.
pub fn counted() -> Profile {
    let counts = |factor: f64| {
        let value = |value: f64| Some(estimate(value * factor));
        Counts {
            L1DR: value(600.0),
            L1DM: value(80.0),
            L1IM: value(400.0),
            L2M: value(500.0),
            L3M: None,
            INS: value(1600.0),
            CYCLE: value(15_000.0),
            STALL: Some(estimate(0.6)),
        }
    };
    let mut calls = rows();
    for call in &mut calls {
        let factor = if call.state == CacheState::Cold { 1.0 } else { 0.1 };
        (call.side, call.counts, call.CPI) = (Side::Kernel, counts(factor), Some(estimate(9.0 * factor)));
    }
    let calls = Calls {
        method: CallMethod::Pmu,
        conditions: conditions(&[("L3M", "no event passed its self-test")]),
        calls,
        damage: damage(),
        ..Calls::default()
    };
    let test = |name: &str, passed: bool| EventTest {
        name: name.into(),
        event: "L2 request from L1D (0x60/c8)".into(),
        passed,
        chosen: passed,
        why: "6144 of 6144 lines".into(),
    };
    let tool = CounterTool {
        name: "user-level start and stop".into(),
        user: counts(0.01),
        kernel: Counts { INS: Some(Estimate::exact(0.0)), ..Counts::default() },
        ns: Some(estimate(2500.0)),
        ..CounterTool::default()
    };
    let counters = Counters {
        tools: vec![tool],
        events: vec![test("L1DM", true), test("L1IM", false)],
        rdpmc: Rdpmc { available: true, trapped: Some(true), ns: Some(estimate(1200.0)), ..Rdpmc::default() },
        ..Counters::default()
    };
    finished(calls, counters)
}

/// Text that tries to do harm wherever the sections take text.
pub fn hostile(profile: &mut Profile, text: &str) {
    let Profile { calls, counters, .. } = counted();
    let (mut calls, mut counters) = (calls.expect("a section"), counters.expect("a section"));
    let harm = |place: &mut String| text.clone_into(place);
    calls.calls.iter_mut().for_each(|call| harm(&mut call.name));
    calls.damage.iter_mut().for_each(|damage| harm(&mut damage.name));
    curves(&mut calls);
    calls.footprint.iter_mut().for_each(|row| {
        harm(&mut row.call);
        row.filesystem = Some(text.to_owned());
    });
    calls.channel.iter_mut().for_each(|channel| harm(&mut channel.claimed));
    calls.conditions.not_available = BTreeMap::from([(text.to_owned(), text.to_owned())]);
    counters.tools.iter_mut().for_each(|tool| {
        harm(&mut tool.name);
        tool.not_available = Some(text.to_owned());
    });
    counters.events.iter_mut().for_each(|test| {
        harm(&mut test.event);
        harm(&mut test.why);
    });
    counters.rdpmc.note = Some(text.to_owned());
    counters.method.not_available = calls.conditions.not_available.clone();
    (profile.calls, profile.counters) = (Some(calls), Some(counters));
}
