//! Contention on this machine: its shape, and what must be true of any machine.

use std::time::Duration;

use coho_platform::{pin, stop};
use coho_probe::contention::Options;
use coho_probe::experiment::{Entry, Observer, Plan, Survey, survey};
use coho_probe::{Course, Progress, counters, memory};
use coho_profile::{Estimate, Host, LineOperation, Memory, Profile};
use coho_testing::{Capability, in_own_process, needs};

use crate::measured;

fn is_within(estimate: &Option<Estimate>, low: f64, high: f64) -> bool {
    estimate.as_ref().is_some_and(|estimate| estimate.low >= low && estimate.high <= high)
}

#[test]
fn figures_are_those_of_a_machine() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    let options = Options { course: Course::on(&cpus[..]), quick: true, ..Options::default() };
    let contention = measured(&options).unwrap();
    assert!(!contention.method.interrupted && contention.method.passes == 6);
    for operation in LineOperation::ALL {
        for n in [1, 2] {
            let mut rows = contention.rows.iter().filter(|row| row.operation == operation);
            let row = rows.find(|row| row.cpus.len() == n).unwrap();
            // On CPUs that never ran at the same time there is a reason in place of the figures.
            let Some(ns) = &row.ns else {
                let name = format!("{operation}, {n} CPU");
                assert!(contention.method.not_available.keys().any(|key| key.starts_with(&name)), "{row:?}");
                continue;
            };
            assert!(row.cpus == cpus[..n] && (0.01..1e6).contains(&ns.median), "{row:?}");
            // One figure from two sides: n CPUs, each with an operation every so many ns.
            let per_s = row.operations_per_s.as_ref().unwrap().median / n as f64 / 1e9;
            assert!((ns.low - 1e-9..ns.high + 1e-9).contains(&per_s.recip()), "{row:?}");
            assert!((row.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && row.shares.len() == n, "{row:?}");
            assert!(is_within(&row.jain, 1.0 / n as f64 - 1e-9, 1.0 + 1e-9), "{row:?}");
            assert!(is_within(&row.least_over_most, 0.0, 1.0), "{row:?}");
            assert_eq!(row.failures_per_success.is_some(), operation == LineOperation::CompareAndSwap);
            assert_eq!(row.times_alone.is_some(), n == 2, "{row:?}");
            if n == 1 {
                assert!(row.failures_per_success.as_ref().is_none_or(|failures| failures.high == 0.0));
            }
        }
    }
}

#[test]
fn one_cpu_is_measured_alone_and_says_so() {
    let cpu = pin::allowed().unwrap().first().unwrap();
    let options = Options { course: Course::on([cpu]), quick: true, ..Options::default() };
    let contention = measured(&options).unwrap();
    assert!(contention.rows.iter().all(|row| row.cpus == [cpu]) && !contention.rows.is_empty());
    assert!(contention.method.not_available["2 CPUs at once"].ends_with("only 1 may be used"));
}

#[test]
fn what_the_time_did_not_suffice_for_has_a_reason() {
    let operations = vec![LineOperation::Add, LineOperation::Exchange];
    let course = Course::default().within(Duration::from_nanos(1));
    let contention = measured(&Options { operations, course, ..Options::default() }).unwrap();
    assert!(contention.rows.is_empty() && contention.method.interrupted && contention.method.passes == 0);
    for operation in ["add", "exchange"] {
        let why = &contention.method.not_available[&format!("{operation}, 1 CPU")];
        assert!(why.contains("time was up"), "{why}");
    }
}

#[test]
fn a_cpu_that_cannot_be_used_is_named() {
    let options = Options { course: Course::on([60_000]), ..Options::default() };
    let error = measured(&options).unwrap_err();
    assert!(error.to_string().contains("CPU 60000"), "{error}");
}

/// Stops everything at an experiment's second step.
struct Stopping;

impl Observer for Stopping {
    fn begins(&mut self, section: &'static str) {
        assert_eq!(section, "contention", "no other experiment begins");
    }

    fn advances(&mut self, progress: Progress) {
        if progress.done == 2 {
            // SAFETY: the handlers are installed.
            unsafe { libc::raise(libc::SIGINT) };
        }
    }
}

#[test]
fn a_signal_in_a_survey_keeps_what_was_measured_now_or_before() {
    in_own_process(a_signal_in_a_survey_keeps_what_was_measured_now_or_before, || {
        coho_testing::default_signals();
        stop::on_signals().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let before = Profile { memory: Some(Memory::default()), ..Profile::default() };
        before.write(&path).unwrap();
        let topology = coho_topology::detect().unwrap();
        let plan = Plan { host: &Host::default(), topology: &topology, mpi_rank: None, path: Some(&path) };
        let table =
            [Entry::of::<Options>(), Entry::of::<memory::Options>(), Entry::of::<counters::Options>()];
        let outcome = survey(&table, &Survey::default(), plan, &mut Stopping).unwrap();
        assert_eq!((&outcome.incomplete[..], &outcome.old[..]), (&["contention"][..], &["memory"][..]));
        assert_eq!(outcome.missing, ["counters"]);
        let profile = Profile::read(&path).unwrap();
        assert!(profile.topology.is_some() && profile.memory == before.memory && profile.counters.is_none());
        let contention = profile.contention.unwrap();
        assert!(stop::requested() && contention.method.interrupted);
        assert_eq!(contention.rows.len(), 2, "two operations had their turn");
        let reasons = contention.method.not_available.len();
        assert!(reasons >= LineOperation::ALL.len() - 2, "{:?}", contention.method.not_available);
    });
}
