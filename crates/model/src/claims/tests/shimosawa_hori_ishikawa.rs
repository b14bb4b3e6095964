//! Shimosawa, Hori & Ishikawa: events of calls, and counters read in user mode.

use super::*;

/// Calls by counter; those that `set` changes are poorly known.
pub(super) fn calls(set: impl Fn(&mut Call)) -> Profile {
    let row = |name: &str, set_name: &str, state, l2m: f64, cycles: f64| {
        let (code, data) = if state == CacheState::Cold { (l2m / 2.0, l2m / 4.0) } else { (0.0, 0.0) };
        Call {
            name: name.into(),
            set: set_name.into(),
            state,
            side: Side::Kernel,
            counts: Counts {
                L1IM: figure(code, 0.01),
                L1DM: figure(data, 0.01),
                L2M: figure(l2m, 0.01),
                CYCLE: figure(cycles, 0.001),
                ..Counts::default()
            },
            ..Call::default()
        }
    };
    let mut rows = Vec::new();
    for (name, lines) in [
        ("getpid", 12.0),
        ("gettimeofday", 27.0),
        ("stat", 231.0),
        ("open", 336.0),
        ("write", 405.0),
        ("close", 87.0),
    ] {
        rows.push(row(name, "syscalls", CacheState::Cold, lines, 10_000.0));
        rows.push(row(name, "syscalls", CacheState::Second, 0.0, 600.0));
    }
    for (name, set_name, lines, second) in [
        ("sprintf", "libc", 355.0, 1_600.0),
        ("fprintf", "libc", 739.0, 1_200.0),
        ("MPI_Send over TCP", "mpi", 400.0, 3_000.0),
        ("MPI_Recv over TCP", "mpi", 400.0, 2_200.0),
        ("MPI_Isend over TCP", "mpi", 400.0, 3_000.0),
        ("MPI_Irecv over TCP", "mpi", 400.0, 2_200.0),
    ] {
        rows.push(row(name, set_name, CacheState::Cold, lines, 10_000.0));
        rows.push(row(name, set_name, CacheState::Second, 10.0, second));
    }
    rows.iter_mut().for_each(set);
    let calls = Calls { method: CallMethod::Pmu, calls: rows, ..Calls::default() };
    Profile { calls: Some(calls), ..Profile::default() }
}

fn changed(
    name: &'static str,
    state: CacheState,
    of: fn(&mut Counts) -> &mut Option<Estimate>,
) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        calls(|call| {
            if call.name == name && call.state == state {
                *of(&mut call.counts) = figure(value, known_to);
            }
        })
    }
}

pub(super) fn counters(user_level: f64, known_to: f64) -> Profile {
    let tool = |name: &str, ns: f64, known_to| CounterTool {
        name: name.into(),
        ns: figure(ns, known_to),
        ..CounterTool::default()
    };
    let tools = vec![
        tool("user-level start and stop", user_level, known_to),
        tool("perf_event start and stop", 2800.0, 0.001),
        tool("PAPI start and stop", 4300.0, 0.001),
    ];
    Profile { counters: Some(Counters { tools, ..Counters::default() }), ..Profile::default() }
}

pub(super) fn shimosawa_hori_ishikawa() -> Vec<String> {
    use CacheState::{Cold, Second};
    let l2m: fn(&mut Counts) -> &mut Option<Estimate> = |counts| &mut counts.L2M;
    let cycles: fn(&mut Counts) -> &mut Option<Estimate> = |counts| &mut counts.CYCLE;
    let code: fn(&mut Counts) -> &mut Option<Estimate> = |counts| &mut counts.L1IM;
    vec![
        three("Entering and leaving", changed("getpid", Cold, l2m), 12.0, 30.0),
        three("open and write", changed("open", Cold, l2m), 336.0, 900.0),
        three("The second time, getpid", changed("getpid", Second, l2m), 0.1, 0.9),
        three("In each cold system call", changed("stat", Cold, code), 183.0, 20.0),
        three("The second time, each system call", changed("close", Second, cycles), 900.0, 2000.0),
        three("sprintf brings", changed("sprintf", Cold, l2m), 355.0, 1500.0),
        three("fprintf brings", changed("fprintf", Cold, l2m), 739.0, 3000.0),
        three("The second time, fprintf", changed("fprintf", Second, cycles), 1200.0, 3500.0),
        three("The second time, MPI's", changed("MPI_Send over TCP", Second, cycles), 3000.0, 7000.0),
        three("Counters read in user mode", counters, 100.0, 900.0),
    ]
}

/// What only resembles the paper's quantity decides nothing, except for what it bounds from one side.
#[test]
fn data_seen_by_timing_are_a_lower_bound() {
    let timed = |lines: f64| {
        let mut profile = calls(|call| {
            call.footprint_lines = figure(lines, 0.01);
            call.counts = Counts::default();
        });
        profile.calls.as_mut().unwrap().method = CallMethod::Timing;
        the("Entering and leaving", &judge(&profile))
    };
    assert_eq!(timed(12.0).verdict, Verdict::CannotBeTold, "the code is not seen");
    let larger = timed(24.0);
    assert_eq!(larger.verdict, Verdict::DoesNotHold, "the data alone are more");
    assert!(larger.here.as_deref().unwrap().starts_with("at least 1.4"), "{larger:?}");
}
