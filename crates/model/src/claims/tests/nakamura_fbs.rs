//! Nakamura et al.: fork and join, barriers and programs of 16 threads.

use super::*;

/// Barriers and programs of 16 threads, with one poorly known figure.
pub(super) fn team(change: impl Fn(&mut Sync)) -> Profile {
    let row = |algorithm: &str, threads, mapping: &str, fork: f64, join: f64| ForkJoinTime {
        algorithm: algorithm.into(),
        by: "barrier".into(),
        threads,
        mapping: mapping.into(),
        fork_ns: figure(fork, 0.001),
        join_ns: figure(join, 0.001),
        total_ns: figure(fork + join, 0.001),
        ..ForkJoinTime::default()
    };
    let fork_join = vec![
        row("fbs", 8, "sequential", 1200.0, 1200.0),
        row("fbs", 8, "binary-tree", 1900.0, 1900.0),
        row("fbs", 16, "sequential", 2400.0, 2400.0),
        row("fbs-one-line", 16, "sequential", 3000.0, 10_400.0),
        row("lock", 16, "sequential", 12_000.0, 15_800.0),
    ];
    let peers = vec![SyncPeer {
        name: "libgomp".into(),
        operation: "barrier".into(),
        threads: 16,
        ns: figure(9000.0, 0.001),
        ratio: figure(3.0, 0.001),
        ..SyncPeer::default()
    }];
    let point =
        |length, size, threads, barrier: &str, mapping: &str, seconds: f64, waiting: f64| KernelPoint {
            length,
            size,
            threads,
            barrier: barrier.into(),
            mapping: mapping.into(),
            seconds: figure(seconds, 0.001),
            sync_seconds: figure(waiting, 0.001),
            gflops: length.map(|length| figure(length as f64 / seconds / 1e9, 0.001).unwrap()),
        };
    let daxpy =
        [("fbs", 5e-6, 2e-5, 0.1), ("lock", 2e-5, 2.6e-5, 0.1)].map(|(barrier, short, peak, long)| {
            let loops = [(100, short), (100_000, peak), (10_000_000, long)];
            loops.map(|(length, seconds)| point(Some(length), None, 16, barrier, "sequential", seconds, 0.0))
        });
    let program = |all: f64, lock: f64, waiting: f64| Kernel {
        points: vec![
            point(None, Some(9), 16, "fbs", "sequential", all, waiting * all),
            point(None, Some(9), 16, "lock", "sequential", lock, lock - all),
            point(None, Some(9), 8, "fbs", "sequential", 1.21, 0.10),
            point(None, Some(9), 8, "fbs", "binary-tree", 1.0, 0.16),
        ],
        ..Kernel::default()
    };
    let kernels = BTreeMap::from([
        ("daxpy".to_owned(), Kernel { points: daxpy.concat(), ..Kernel::default() }),
        ("galerkin".to_owned(), program(0.5, 1.0, 0.4)),
        ("weather".to_owned(), program(0.75, 1.0, 0.06)),
    ]);
    let mut sync = Sync { fork_join, peers, kernels, ..Sync::default() };
    change(&mut sync);
    Profile { topology: Some(packages()), sync: Some(sync), ..Profile::default() }
}

/// With another time of fork and join.
fn joined(algorithm: &'static str, threads: u32, mapping: &'static str) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        team(|sync| {
            let mine = |row: &&mut ForkJoinTime| {
                row.algorithm == algorithm && row.threads == threads && row.mapping == mapping
            };
            sync.fork_join.iter_mut().find(mine).unwrap().total_ns = figure(value, known_to);
        })
    }
}

/// With another run of a program.
fn ran(
    name: &'static str,
    which: impl Fn(&KernelPoint) -> bool,
    of: fn(&mut KernelPoint) -> &mut Option<Estimate>,
) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        team(|sync| {
            let points = &mut sync.kernels.get_mut(name).unwrap().points;
            let point = points.iter_mut().find(|point| which(point)).unwrap();
            *of(point) = figure(value, known_to);
        })
    }
}

pub(super) fn nakamura_fbs() -> Vec<String> {
    let seconds: fn(&mut KernelPoint) -> &mut Option<Estimate> = |point| &mut point.seconds;
    let waiting: fn(&mut KernelPoint) -> &mut Option<Estimate> = |point| &mut point.sync_seconds;
    let lock = |point: &KernelPoint| point.barrier == "lock";
    let half = |point: &KernelPoint| point.threads == 8 && point.mapping == "sequential";
    let join = |value, known_to| {
        team(|sync| {
            let row = sync.fork_join.iter_mut().find(|row| row.algorithm == "fbs-one-line").unwrap();
            row.join_ns = figure(value, known_to);
        })
    };
    let openmp = |value, known_to| team(|sync| sync.peers[0].ratio = figure(value, known_to));
    vec![
        three("Fork and join by a lock", joined("lock", 16, "sequential"), 9000.0, 3000.0),
        three("On 16 CPUs, fork and join", joined("lock", 16, "sequential"), 27_000.0, 9000.0),
        three("FBS with all flags", joined("fbs-one-line", 16, "sequential"), 9000.0, 3000.0),
        three("On 16 CPUs, FBS on one line", joined("fbs-one-line", 16, "sequential"), 13_440.0, 9000.0),
        three("One line loses", join, 10_400.0, 2500.0),
        three("On 8 CPUs, FBS", joined("fbs", 8, "sequential"), 2400.0, 6000.0),
        three("Half the CPUs fork and join", joined("fbs", 8, "binary-tree"), 3800.0, 2000.0),
        three("The fast barrier beats", openmp, 3.0, 0.5),
        three(
            "Short loops run",
            ran("daxpy", move |p| lock(p) && p.length == Some(100), seconds),
            2e-5,
            2e-6,
        ),
        three(
            "Short loops gain",
            ran("daxpy", move |p| lock(p) && p.length == Some(100), seconds),
            2e-5,
            5e-6,
        ),
        three(
            "Once the data exceed",
            ran("daxpy", move |p| lock(p) && p.length == Some(10_000_000), seconds),
            0.1,
            0.2,
        ),
        three("An untuned program", ran("galerkin", lock, seconds), 1.0, 0.3),
        three("A tuned weather model", ran("weather", lock, seconds), 1.0, 0.5),
        three("Tuned, less than a tenth", ran("weather", |p| p.barrier == "fbs", waiting), 0.03, 0.3),
        three("Half the CPUs compute", ran("weather", half, seconds), 1.21, 0.5),
        three("Half the CPUs wait", ran("weather", half, waiting), 0.1, 0.3),
        three("On the whole", ran("weather", half, seconds), 1.21, 0.6),
    ]
}
