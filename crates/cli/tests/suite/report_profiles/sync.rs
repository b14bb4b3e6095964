//! Barriers and programs of a machine of 16 CPUs and of one of two.

use std::collections::BTreeMap;

use coho_profile::{
    BarrierTime, ForkJoinTime, Home, Kernel, KernelPoint, Method, Mode, PairMethod, Profile, Sync, SyncLimit,
    SyncPeer,
};

use super::{Shape, estimate, profile, two_cpus};

const ALGORITHMS: [(&str, &str, f64); 6] = [
    ("fbs", "separate-lines", 1.1),
    ("fbs", "one-line", 2.4),
    ("lock", "", 6.0),
    ("central", "", 3.0),
    ("dissemination-2", "", 2.0),
    ("grid", "", 1.3),
];

/// The farthest of a team's one-way times, in ns.
fn limit(threads: u32, mapping: &str) -> f64 {
    match threads {
        2 if mapping == "sequential" => 24.0,
        8 if mapping == "sequential" => 24.0,
        _ => 205.0,
    }
}

fn section(teams: &[(u32, &str)], cpus: u32) -> Sync {
    let mut sync = Sync {
        method: Method {
            description: "Made up by a test; no machine was measured.".into(),
            parameters: BTreeMap::from([("cpus".to_owned(), (0..cpus).collect::<Vec<_>>().into())]),
            passes: 4,
            duration_s: 1.0,
            not_available: BTreeMap::from([("steal".to_owned(), "/proc/stat does not report it".to_owned())]),
            ..Method::default()
        },
        best_line_ns: Some(estimate(198.0)),
        limit_ns: Some(SyncLimit { barrier: estimate(205.0), barrier_by: None, fork_join: estimate(410.0) }),
        ..Sync::default()
    };
    for &(threads, mapping) in teams {
        for (algorithm, layout, factor) in ALGORITHMS {
            let ns = limit(threads, mapping) * factor * (1.0 + f64::from(threads) / 32.0);
            sync.barriers.push(BarrierTime {
                algorithm: algorithm.into(),
                layout: layout.into(),
                threads,
                mapping: mapping.into(),
                ns: Some(estimate(ns)),
                times_limit: Some(ns / limit(threads, mapping)),
            });
        }
        for (algorithm, factor) in [("team", 1.2), ("fbs", 1.5), ("fbs-one-line", 3.5), ("lock", 9.0)] {
            let ns = 2.0 * limit(threads, mapping) * factor;
            sync.fork_join.push(ForkJoinTime {
                algorithm: algorithm.into(),
                by: if algorithm == "team" { "go-flag" } else { "barrier" }.into(),
                threads,
                mapping: mapping.into(),
                fork_ns: Some(estimate(0.55 * ns)),
                join_ns: Some(estimate(0.5 * ns)),
                total_ns: Some(estimate(ns)),
                times_limit: Some(factor),
            });
        }
    }
    let jumping = sync.barriers[0].ns.as_mut().expect("a time");
    jumping.stable = Some(false);
    jumping.modes = vec![Mode { value: 31.0, share: 0.6 }, Mode { value: 63.0, share: 0.4 }];
    sync.peers = vec![
        SyncPeer {
            name: "libgomp".into(),
            operation: "fork-join".into(),
            threads: 2,
            ns: Some(estimate(820.0)),
            ratio: Some(estimate(6.6)),
            not_available: None,
        },
        SyncPeer {
            name: "libomp".into(),
            operation: "barrier".into(),
            not_available: Some("no clang that links OpenMP".into()),
            ..SyncPeer::default()
        },
    ];
    sync
}

fn point(length: Option<u64>, size: Option<u64>, team: (u32, &str, &str), times: [f64; 2]) -> KernelPoint {
    let (threads, barrier, mapping) = team;
    KernelPoint {
        length,
        size,
        threads,
        barrier: barrier.into(),
        mapping: mapping.into(),
        seconds: Some(estimate(times[0])),
        sync_seconds: Some(estimate(times[1])),
        gflops: Some(estimate(2e-9 * length.or(size).unwrap_or(1) as f64 / times[0])),
        ..KernelPoint::default()
    }
}

/// Every program by one thread and by teams, each with its cost of a fork and join in ns.
fn kernels(teams: &[(u32, &str, &str, f64)]) -> BTreeMap<String, Kernel> {
    let mut daxpy =
        Kernel { invariant: "every element".into(), invariant_error: Some(0.0), ..Kernel::default() };
    for length in (6..20).map(|power| 1u64 << power) {
        let time = |threads: u32, wait: f64| {
            let ns = 20.0 + 0.25 * length as f64 / f64::from(threads) + wait;
            [1e-9 * ns * if length > 1 << 16 { 1.6 } else { 1.0 }, 1e-9 * wait]
        };
        daxpy.points.push(point(Some(length), None, (1, "none", ""), time(1, 0.0)));
        for &(threads, barrier, mapping, wait) in teams {
            daxpy.points.push(point(Some(length), None, (threads, barrier, mapping), time(threads, wait)));
        }
    }
    daxpy.fitted = coho_profile::fitted::fit(&daxpy.points, 1 << 16);
    let application = |size: u64, work: f64, waits: f64| {
        let mut kernel = Kernel {
            invariant: "energy".into(),
            invariant_error: Some(3e-13),
            method: Method { description: "Made up by a test.".into(), ..Method::default() },
            ..Kernel::default()
        };
        for size in [size / 4, size] {
            kernel.points.push(point(None, Some(size), (1, "none", ""), [work * 1e-3, 0.0]));
            for &(threads, barrier, mapping, wait) in teams {
                let compute = work / f64::from(threads) * if mapping == "sequential" { 1.1 } else { 1.0 };
                let waiting = waits * wait * 1e-6;
                let times = [1e-3 * (compute + waiting), 1e-3 * waiting];
                kernel.points.push(point(None, Some(size), (threads, barrier, mapping), times));
            }
        }
        kernel
    };
    [
        ("daxpy".to_owned(), daxpy),
        ("galerkin".to_owned(), application(1024, 12.0, 900.0)),
        ("weather".to_owned(), application(4096, 30.0, 120.0)),
    ]
    .into()
}

/// 16 CPUs in two packages, both mappings.
pub fn sixteen() -> Profile {
    let shape = Shape { packages: 2, l3s: 1, cores: 8, threads: 1 };
    let mut profile =
        profile(&shape, &[(PairMethod::Turn, Home::Unknown), (PairMethod::Flags, Home::Unknown)]);
    let teams =
        [(2, "sequential"), (2, "binary-tree"), (8, "sequential"), (8, "binary-tree"), (16, "sequential")];
    let mut sync = section(&teams, 16);
    sync.kernels = kernels(&[
        (8, "lock", "sequential", 1500.0),
        (8, "fbs", "sequential", 300.0),
        (8, "lock", "binary-tree", 2400.0),
        (8, "fbs", "binary-tree", 500.0),
        (16, "lock", "sequential", 4000.0),
        (16, "fbs", "sequential", 800.0),
    ]);
    profile.sync = Some(sync);
    profile
}

/// The two CPUs of a small virtual machine.
pub fn two() -> Profile {
    let mut profile = two_cpus();
    let mut sync = section(&[(2, "sequential")], 2);
    sync.kernels = kernels(&[(2, "lock", "sequential", 600.0), (2, "fbs", "sequential", 130.0)]);
    profile.sync = Some(sync);
    profile
}

/// Text that tries to do harm wherever the section takes text, and figures that are none.
pub fn hostile(profile: &mut Profile, text: &str) {
    let mut sync = two().sync.expect("a section");
    let harm = |place: &mut String| text.clone_into(place);
    for row in &mut sync.barriers {
        harm(&mut row.algorithm);
        harm(&mut row.layout);
        harm(&mut row.mapping);
    }
    sync.barriers[1].ns = Some(estimate(f64::MAX / 2.0));
    sync.barriers[2].ns = Some(estimate(-3.0));
    sync.barriers[3].threads = u32::MAX;
    for row in &mut sync.fork_join {
        harm(&mut row.by);
        harm(&mut row.algorithm);
        harm(&mut row.mapping);
    }
    for peer in &mut sync.peers {
        harm(&mut peer.name);
        harm(&mut peer.operation);
        peer.not_available = Some(text.to_owned());
    }
    sync.method.not_available.insert(text.to_owned(), text.to_owned());
    for kernel in sync.kernels.values_mut() {
        harm(&mut kernel.invariant);
        kernel.fitted.insert(text.to_owned(), f64::MAX);
        kernel.method.not_available.insert(text.to_owned(), text.to_owned());
        for point in &mut kernel.points {
            harm(&mut point.barrier);
            harm(&mut point.mapping);
        }
        kernel.points[0].seconds = Some(estimate(f64::MAX / 2.0));
        kernel.points[1].length = Some(u64::MAX);
    }
    sync.kernels.insert(text.to_owned(), Kernel::default());
    profile.sync = Some(sync);
}
