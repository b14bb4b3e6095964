//! Calls at home and on another core, measured here and checked for shape only, as figures belong to one machine.

use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_probe::Course;
use coho_probe::calls::{Curves, Options, Request, measure};
use coho_profile::{Calls, Estimate, Files, Footprint, HostLast};
use coho_testing::{Capability, alone, needs};

fn options(calls: &[&str], cpus: Vec<u32>) -> Options {
    Options {
        sets: Vec::new(),
        extra: calls.iter().map(|call| call.parse::<Request>().unwrap()).collect(),
        pmu: false,
        repeats: 10,
        damage_bytes: vec![8 << 10],
        course: Course::on(cpus).within(Duration::from_secs(60)),
        curves: Some(Curves::default()),
        ..Options::quick()
    }
}

fn is_ordered(figure: &Estimate) -> bool {
    figure.min <= figure.median
        && figure.low <= figure.median
        && figure.median <= figure.high
        && figure.median.is_finite()
}

#[test]
fn every_call_has_its_curve_at_home_and_away() {
    let _alone = alone();
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    let mut steps = 0;
    let calls =
        measure(&options(&["getpid", "write(4096)", "sched_yield"], cpus.clone()), &mut |_| steps += 1)
            .unwrap();
    let conditions = calls.footprint_conditions.as_ref().unwrap();
    assert!(steps > 10 && conditions.passes > 0, "{conditions:?}");
    assert!(conditions.not_available["sched_yield"].contains("the calling thread itself"), "{conditions:?}");
    let last = conditions.parameters["last_level_cache_bytes"].as_u64().unwrap();
    let l2 = conditions.parameters["l2_bytes"].as_u64().unwrap();
    for (name, payload) in [("getpid", 0), ("write", 4096)] {
        let own: Vec<&Footprint> = calls
            .footprint
            .iter()
            .filter(|row| (&*row.call, row.payload_bytes, row.callers) == (name, payload, 1))
            .collect();
        let sizes: Vec<u64> =
            own.iter().filter(|row| row.instruction_bytes == 0).map(|row| row.bytes).collect();
        // Where a host moves the CPUs, visits at other distances do not count.
        if conditions.parameters["visits"] == conditions.parameters["visits_at_one_way_ns"] {
            assert_eq!(sizes.iter().min(), Some(&(8 << 10)));
            assert_eq!(sizes.iter().max(), Some(&(2 * last.max(l2))));
            assert!(own.iter().any(|row| row.instruction_bytes == 64 << 10));
        }
        for row in &own {
            assert_eq!(row.host_last, Some(HostLast::Same));
            assert_eq!(row.filesystem.is_some(), name == "write");
            for figure in [&row.home_ns, &row.away_ns, &row.async_ns, &row.work_ns, &row.gain_ns] {
                assert!(figure.as_ref().is_some_and(is_ordered), "{row:?}");
            }
            assert_eq!(row.home_misses, None);
        }
        // The work that overlaps takes at least as long as was asked for.
        for (row, ns) in own.iter().zip([0.0, 500.0, 2000.0, 10_000.0]) {
            assert!(row.work_ns.as_ref().unwrap().median >= ns, "{row:?}");
        }
    }
    let channel = &calls.channel[0];
    assert_eq!((channel.caller, channel.host), (cpus[0], cpus[1]));
    for figure in [&channel.one_way_ns, &channel.post_ns, &channel.round_trip_ns] {
        assert!(figure.as_ref().is_some_and(is_ordered), "{channel:?}");
    }
    let one_way = channel.one_way_ns.as_ref().unwrap().median;
    assert!(one_way > 0.0 && channel.round_trip_ns.as_ref().unwrap().median > one_way, "{channel:?}");
    assert_eq!(channel.batches.iter().map(|batch| batch.requests).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    assert!(channel.payloads.iter().all(|one| one.in_place_ns.is_some() && one.copied_ns.is_some()));
    assert!(calls.affinity.iter().any(|row| row.host_last == HostLast::Other && row.call == "write"));
    let warm = calls.affinity.iter().find(|row| row.host_last == HostLast::Same && row.host_idle_ns == 0.0);
    assert!((warm.unwrap().over_warm.as_ref().unwrap().median - 1.0).abs() < 1e-9);
    // Both CPUs call, and none is left for a host.
    for files in [Files::Same, Files::Different] {
        let row = calls.footprint.iter().find(|row| row.callers == 2 && row.files == Some(files));
        let row = row.unwrap_or_else(|| panic!("{conditions:?}"));
        assert!(row.home_ns.is_some() && row.away_ns.is_none(), "{row:?}");
    }
    assert!(conditions.not_available["several callers, away"].contains("three CPUs"));
    assert!(conditions.not_available["assignments"].contains("four CPUs"));
}

/// CPUs named twice stand in for more CPUs: it is slow, but everything runs.
#[test]
fn one_cpu_has_curves_at_home_alone() {
    let _alone = alone();
    let cpu = pin::allowed().unwrap().first().unwrap();
    let calls = measure(&options(&["getpid"], vec![cpu]), &mut |_| ()).unwrap();
    let why = &calls.footprint_conditions.as_ref().unwrap().not_available;
    assert!(why["away"].starts_with("not available: another core needs a second CPU"), "{why:?}");
    assert!(why["several callers"].contains("two CPUs"));
    assert!(!calls.footprint.is_empty() && calls.channel.is_empty() && calls.affinity.is_empty());
    for row in &calls.footprint {
        assert!(row.home_ns.is_some() && row.away_ns.is_none() && row.host_last.is_none(), "{row:?}");
    }
}

#[test]
fn a_time_limit_keeps_what_there_is() {
    let _alone = alone();
    let start = Instant::now();
    let cpus = pin::allowed().unwrap().iter().take(2).collect();
    let mut limited = options(&["stat"], cpus);
    limited.course.time_limit = Some(Duration::from_secs(2));
    let calls = measure(&limited, &mut |_| ()).unwrap();
    assert!(calls.footprint_conditions.is_some());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn a_cpu_that_there_is_not_is_named() {
    let _alone = alone();
    let cpu = pin::allowed().unwrap().first().unwrap();
    let calls: Calls = measure(&options(&["getpid"], vec![cpu, 60_000]), &mut |_| ()).unwrap();
    let why = &calls.footprint_conditions.unwrap().not_available["footprint"];
    assert!(why.contains("CPU 60000"), "{why}");
}
