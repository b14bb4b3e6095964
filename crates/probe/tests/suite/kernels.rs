//! Programs under barriers, as anyone would run them.

use std::time::Duration;

use coho_platform::{pin, stop};
use coho_probe::kernels::{Options, Which, measure};
use coho_profile::KernelPoint;
use coho_profile::fitted;
use coho_topology::Topology;

fn topology() -> Topology {
    coho_topology::detect().unwrap()
}

/// Two CPUs, or what there is.
fn options() -> Options {
    let cpus = pin::allowed().unwrap().iter().take(2).collect();
    Options { cpus, quick: true, ..Options::default() }
}

#[test]
fn every_program_runs_alone_and_under_both_barriers() {
    let _alone = coho_testing::alone();
    let options = options();
    for which in Which::ALL {
        let mut last = 0;
        let kernel = measure(which, &options, &topology(), &mut |progress| {
            assert_eq!(progress.phase, which.name());
            assert!(progress.done > last && progress.done <= progress.total);
            last = progress.done;
        })
        .unwrap();
        assert!(!stop::requested());
        let name = which.name();
        assert!(kernel.invariant_error.is_none_or(|error| error < 1e-4), "{name} {kernel:?}");
        assert!(!kernel.invariant.is_empty());
        let seen = |threads: u32, barrier: &str| {
            let wanted = |point: &&KernelPoint| point.threads == threads && point.barrier == barrier;
            kernel.points.iter().filter(wanted).collect::<Vec<_>>()
        };
        let sizes = seen(1, "none").len();
        assert!(!kernel.method.interrupted && sizes > 0 && kernel.invariant_error.is_some(), "{name}");
        for point in &kernel.points {
            assert_eq!(point.length.is_some(), which == Which::Daxpy);
            assert!(point.length.is_none() != point.size.is_none());
            let seconds = point.seconds.as_ref().unwrap().median;
            assert!(seconds > 0.0 && point.gflops.as_ref().unwrap().median > 0.0);
            assert_eq!(point.threads == 1, point.mapping.is_empty());
            assert!(point.threads > 1 || point.sync_seconds.is_none());
            assert!(point.sync_seconds.as_ref().is_none_or(|sync| sync.median <= seconds), "{point:?}");
        }
        if options.cpus.len() < 2 {
            continue;
        }
        for barrier in ["fbs", "lock"] {
            assert_eq!(seen(2, barrier).len(), sizes, "{name} {barrier}");
            assert!(seen(2, barrier).iter().all(|point| point.sync_seconds.is_some()));
        }
        // Two CPUs can be ordered in one way only.
        let skipped = kernel.method.not_available.get("binary-tree mapping, 2 threads");
        assert!(skipped.is_some_and(|why| why.contains("sequential")), "{:?}", kernel.method.not_available);
        if which == Which::Daxpy {
            let told = fitted::seconds(&kernel.fitted, 1000, 2, "fbs", "sequential").unwrap();
            assert!(told > 0.0 && kernel.fitted[fitted::ELEMENT] > 0.0, "{:?}", kernel.fitted);
        }
    }
}

#[test]
fn more_threads_than_cpus_are_refused() {
    let options = Options { threads: vec![1, 3], ..options() };
    let error = measure(Which::Daxpy, &options, &topology(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("a team of 3 threads needs as many CPUs"), "{error}");
    let options = Options { threads: vec![0], ..options };
    assert!(measure(Which::Daxpy, &options, &topology(), &mut |_| ()).is_err());
}

#[test]
fn a_cpu_that_does_not_exist_is_named_and_nothing_to_measure_is_said() {
    let options = Options { cpus: vec![60_000], ..options() };
    let error = measure(Which::Weather, &options, &topology(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("CPU 60000"), "{error}");
    let options = Options { barriers: Vec::new(), ..self::options() };
    assert!(measure(Which::Daxpy, &options, &topology(), &mut |_| ()).is_err());
}

#[test]
fn a_time_limit_keeps_what_is_done() {
    let options = Options { time_limit: Some(Duration::ZERO), ..options() };
    let kernel = measure(Which::Daxpy, &options, &topology(), &mut |_| ()).unwrap();
    assert!(kernel.method.interrupted && kernel.points.is_empty() && kernel.fitted.is_empty());
}
