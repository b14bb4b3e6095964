//! Fleets of machines that are made here.

use std::collections::BTreeMap;

use coho_profile::{Estimate, Host, Memory, MemoryLatency, Profile};

use super::*;

/// A machine whose latency and clock are these.
fn machine(name: &str, date: &str, cpu: &str, ns: f64, clock_ghz: f64) -> Surveyed {
    let host = Host {
        cpu: Some(cpu.into()),
        kernel: Some("Linux 6.12 #1".into()),
        microcode: Some("0x1".into()),
        mitigations: BTreeMap::from([("meltdown".into(), "Not affected".into())]),
        date: Some(date.into()),
        clock_ghz: Some(clock_ghz),
        ..Host::default()
    };
    let ns = Some(Estimate {
        low: ns * 0.99,
        high: ns * 1.01,
        min: ns * 0.98,
        n: 40,
        passes: 5,
        ..Estimate::exact(ns)
    });
    let latency = vec![MemoryLatency { bytes: 4096, ns, ..MemoryLatency::default() }];
    let memory = Some(Memory { latency, ..Memory::default() });
    Surveyed::of(name, format!("{name}.json"), &Profile { host: Some(host), memory, ..Profile::default() })
}

const DATE: &str = "2026-11-24T22:00:48Z";

fn fleet_of(surveys: impl IntoIterator<Item = Surveyed>) -> Fleet {
    let mut fleet = Fleet::new();
    surveys.into_iter().for_each(|mut survey| fleet.add(&mut survey).unwrap());
    fleet
}

/// Machines that differ by a few per cent.
fn healthy(n: u32) -> impl Iterator<Item = Surveyed> {
    (0..n).map(|i| {
        machine(&format!("node{i}"), DATE, "X", 100.0 + f64::from(i * 7 % 13) / 3.0 + f64::from(i) / 1e3, 3.0)
    })
}

#[test]
fn only_the_odd_machine_is_named_and_in_words() {
    let report = fleet_of(healthy(40).chain([machine("slow", DATE, "X", 190.0, 2.0)])).report(
        &GROUPED,
        Vec::new(),
        None,
    );
    assert_eq!((report.machines, report.groups.len(), report.groups[0].odd), (41, 1, 1));
    let told: Vec<_> =
        report.outliers.iter().map(|one| (one.machine.as_str(), one.figure.as_str())).collect();
    assert_eq!(told, [("slow", "host.clock"), ("slow", "memory.latency bytes=4096 cache_type=WB")]);
    assert!(
        report.outliers[1].why.starts_with("latency of dependent loads (bytes=4096"),
        "{:?}",
        report.outliers[1]
    );
    assert!(
        report.outliers[1].why.contains("190 ns, 1.86 × the 102 ns of its group"),
        "{:?}",
        report.outliers[1]
    );
    let few = fleet_of(healthy(10).chain([machine("slow", DATE, "X", 190.0, 2.0)])).report(
        &GROUPED,
        Vec::new(),
        None,
    );
    assert!(few.outliers.is_empty(), "eleven machines do not show what is usual");
}

#[test]
fn a_fact_that_others_have_not_is_odd_and_what_all_have_is_not() {
    let mut odd = machine("old", DATE, "X", 101.0, 3.0);
    let place = FACTS.iter().position(|(name, _)| *name == "microcode").unwrap();
    odd.facts[place] = Some("0x0".into());
    let report = fleet_of(healthy(40).chain([odd])).report(&GROUPED, Vec::new(), None);
    let [only] = &report.outliers[..] else { panic!("{:?}", report.outliers) };
    assert_eq!((only.machine.as_str(), only.z), ("old", None));
    assert_eq!(only.why, "microcode is 0x0; 40 of the 41 machines of its group have 0x1");
}

#[test]
fn a_warning_that_few_have_is_told_and_one_that_many_have_is_the_groups() {
    let warned = |n: usize| {
        let with = |(i, mut one): (usize, Surveyed)| {
            one.warnings.extend((i < n).then(|| ("placement-moves", "CPUs moved.".to_owned())));
            one
        };
        fleet_of(healthy(40).enumerate().map(with)).report(&GROUPED, Vec::new(), None).outliers.len()
    };
    assert_eq!((warned(1), warned(20)), (1, 0));
}

#[test]
fn copies_are_skipped_and_equal_names_of_two_machines_told_apart() {
    let mut fleet = fleet_of([machine("node", DATE, "X", 100.0, 3.0)]);
    let mut copy = machine("other-name", DATE, "X", 100.0, 3.0);
    assert_eq!(fleet.add(&mut copy).unwrap_err(), "it holds the same survey as node.json");
    let mut other = machine("node", DATE, "Y", 130.0, 3.0);
    fleet.add(&mut other).unwrap();
    assert_eq!((fleet.machines(), other.machine.as_str()), (2, "node (2)"));
    let report = fleet.report(&GROUPED, Vec::new(), None);
    assert_eq!((report.groups.len(), report.notes.len()), (2, 1));
    assert_eq!(report.groups[1].differs, "", "as large as the other");
}

#[test]
fn a_machine_drifts_if_its_latest_survey_differs_beyond_chance() {
    let of = |date: &str, ns: f64| machine("node", date, "X", ns, 3.0);
    let report = |latest| {
        let surveys = [
            of("2026-11-03T00:00:00Z", latest),
            of("2026-11-01T00:00:00Z", 100.0),
            of("2026-11-02T00:00:00Z", 101.0),
        ];
        fleet_of(surveys).report(&GROUPED, Vec::new(), None)
    };
    assert_eq!(report(104.0).drift, []);
    let drifted = report(150.0);
    let [only] = &drifted.drift[..] else { panic!("{:?}", drifted.drift) };
    assert_eq!(
        (only.first, only.latest, only.surveys, &*only.since),
        (100.0, 150.0, 3, "2026-11-01T00:00:00Z")
    );
    assert_eq!(drifted.surveys, 3);
}

#[test]
fn a_baseline_shows_what_changed_and_on_how_many_machines() {
    let mut baseline = Baseline::new();
    for survey in healthy(30) {
        for row in &survey.rows {
            let mut line = serde_json::to_value(row).unwrap();
            line["machine"] = survey.machine.clone().into();
            line["survey"] = survey.date.clone().into();
            baseline.add(&line.to_string()).unwrap();
        }
    }
    assert!(baseline.add("{}").is_err() && !baseline.is_empty());
    let unchanged = fleet_of(healthy(30)).report(&GROUPED, Vec::new(), Some(&baseline));
    assert_eq!(unchanged.changes, []);
    let slower = healthy(30).enumerate().map(|(i, mut one)| {
        let by = if i == 3 { 1.0 } else { 1.3 };
        for row in one.rows.iter_mut().filter(|row| row.key == "memory.latency") {
            (row.value, row.low, row.high) = (row.value * by, row.low * by, row.high * by);
        }
        one
    });
    let changed = fleet_of(slower).report(&GROUPED, Vec::new(), Some(&baseline));
    let [only] = &changed.changes[..] else { panic!("{:?}", changed.changes) };
    assert_eq!((only.machines, only.more, only.less, only.together), (30, 29, 0, true));
    assert!((only.ratio - 1.3).abs() < 1e-9);
}

#[test]
fn a_survey_beside_other_work_names_no_machine() {
    let mut busy = machine("busy", DATE, "X", 190.0, 3.0);
    let rows = busy.rows.iter_mut().filter(|row| row.key == "memory.latency");
    rows.for_each(|row| row.disturbed = "tasks waited for a CPU in 60 % of the time".into());
    busy.warnings.push(("disturbed", "The hypervisor took the CPUs.".into()));
    let report = fleet_of(healthy(40).chain([busy])).report(&GROUPED, Vec::new(), None);
    assert_eq!(report.outliers, []);
    let [only] = &report.notes[..] else { panic!("{:?}", report.notes) };
    assert!(only.text.starts_with("something else had the CPUs of 1 machine in"), "{}", only.text);
}

#[test]
fn what_comes_and_goes_is_not_odd_and_what_stays_is() {
    let odd = |times: &[f64]| {
        let of = |(day, ns): (usize, &f64)| {
            machine("node", &format!("2026-11-{:02}T00:00:00Z", day + 1), "X", *ns, 3.0)
        };
        let surveys: Vec<_> = times.iter().enumerate().map(of).collect();
        fleet_of(healthy(40).chain(surveys)).report(&GROUPED, Vec::new(), None).outliers.len()
    };
    assert_eq!((odd(&[190.0]), odd(&[101.0, 190.0]), odd(&[101.0, 190.0, 191.0])), (1, 1, 1));
    assert_eq!((odd(&[190.0, 101.0, 191.0]), odd(&[101.0, 190.0, 102.0, 190.0])), (0, 0));
}
