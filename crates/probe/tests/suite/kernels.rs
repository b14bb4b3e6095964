//! Programs under barriers, as anyone would run them.

use std::time::Duration;

use coho_platform::{pin, stop};
use coho_probe::kernels::{Options, Which};
use coho_probe::{Around, Course, Error, Progress};
use coho_profile::{Kernel, KernelPoint, fitted};

/// On two CPUs, or what there is.
fn options(which: Which) -> Options {
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    Options { course: Course::on(cpus), quick: true, ..Options::of(which) }
}

fn run(options: &Options) -> Result<Kernel, Error> {
    options.run(&mut Around::new(&coho_topology::detect()?, &mut |_| ()))
}

#[test]
fn every_program_runs_alone_and_under_both_barriers() {
    let _alone = coho_testing::alone();
    for which in Which::ALL {
        let options = options(which);
        let mut last = 0;
        let mut watch = |progress: Progress| {
            assert_eq!(progress.phase, which.name());
            assert!(progress.done > last && progress.done <= progress.total);
            last = progress.done;
        };
        let topology = coho_topology::detect().unwrap();
        let kernel = options.run(&mut Around::new(&topology, &mut watch)).unwrap();
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
            // What other work disturbed is withheld, and says why.
            if point.disturbed {
                assert!(point.seconds.is_none() && kernel.method.not_available.len() > 1, "{point:?}");
                continue;
            }
            let seconds = point.seconds.as_ref().unwrap().median;
            assert!(seconds > 0.0 && point.gflops.as_ref().unwrap().median > 0.0);
            assert_eq!(point.threads == 1, point.mapping.is_empty());
            assert!(point.threads > 1 || point.sync_seconds.is_none());
            assert!(point.sync_seconds.as_ref().is_none_or(|sync| sync.median <= seconds), "{point:?}");
        }
        if options.course.cpus.len() < 2 {
            continue;
        }
        for barrier in ["fbs", "lock"] {
            assert_eq!(seen(2, barrier).len(), sizes, "{name} {barrier}");
            assert!(seen(2, barrier).iter().all(|point| point.disturbed || point.sync_seconds.is_some()));
        }
        // Two CPUs can be ordered in one way only.
        let skipped = kernel.method.not_available.get("binary-tree mapping, 2 threads");
        assert!(skipped.is_some_and(|why| why.contains("sequential")), "{:?}", kernel.method.not_available);
        if which == Which::Daxpy {
            let told = fitted::seconds(&kernel.fitted, 1000, 2, "fbs", "sequential");
            let withheld = kernel.method.not_available.contains_key("fitted constants");
            assert!(told.map_or(withheld, |told| told > 0.0), "{:?}", kernel.fitted);
        }
    }
}

#[test]
fn more_threads_than_cpus_are_refused() {
    let options = Options { threads: vec![1, 3], ..options(Which::Daxpy) };
    let error = run(&options).unwrap_err();
    assert!(error.to_string().contains("a team of 3 threads needs as many CPUs"), "{error}");
    assert!(run(&Options { threads: vec![0], ..options }).is_err());
}

#[test]
fn a_cpu_that_does_not_exist_is_named_and_nothing_to_measure_is_said() {
    let options = options(Which::Weather);
    let error = run(&Options { course: Course::on([60_000]), ..options.clone() }).unwrap_err();
    assert!(error.to_string().contains("CPU 60000"), "{error}");
    assert!(run(&Options { barriers: Vec::new(), ..options }).is_err());
}

#[test]
fn a_time_limit_keeps_what_is_done() {
    let course = Course::default().within(Duration::ZERO);
    let kernel = run(&Options { course, ..options(Which::Daxpy) }).unwrap();
    assert!(kernel.method.interrupted && kernel.points.is_empty() && kernel.fitted.is_empty());
}
