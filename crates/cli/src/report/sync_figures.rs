//! The figures of barriers and of programs under them that can be set beside another profile's.

use coho_profile::{Estimate, Kernel, Sync};

use super::figures::{Figure, Key, size_order};
use super::subject::Subject;
use super::sync_ratios;

/// The table in the order of comparisons: behind those of calls.
const SYNC: u8 = 6;

/// Kinds of rows in order.
const RATIOS: usize = 0;
const LIMITS: usize = 100;
const BARRIERS: usize = 200;
const FORK_JOINS: usize = 300;
const PEERS: usize = 400;
const KERNELS: usize = 500;

/// Figures of the section.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let Some(sync) = &subject.profile.sync else { return Vec::new() };
    let mut figures = ratios(sync);
    figures.extend(sync_ratios::all_cpus(sync).map(|total| {
        let label = "fork + join, FBS, all CPUs".to_owned();
        Figure::of(
            subject,
            Key::new(SYNC, RATIOS, "sync.fork-join.fbs.all".to_owned(), label, "ns"),
            total,
            1.0,
        )
    }));
    figures.extend(times(subject, sync));
    for (name, kernel) in &sync.kernels {
        figures.extend(points(subject, name, kernel));
    }
    figures
}

fn ratios(sync: &Sync) -> Vec<Figure> {
    let figure = |(row, ratio): (usize, sync_ratios::Ratio)| Figure {
        key: Key::new(SYNC, RATIOS + row, format!("sync.{}", ratio.name), ratio.label.to_owned(), ratio.unit),
        value: ratio.value,
        interval: ratio.interval,
        n: 1,
        inexact: ratio.inexact,
    };
    sync_ratios::of(sync).into_iter().enumerate().map(figure).collect()
}

fn times(subject: &Subject, sync: &Sync) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut push = |row: usize, id: String, label: String, unit, estimate: &Option<Estimate>| {
        let key = Key::new(SYNC, row, format!("sync.{id}"), label, unit);
        figures.extend(estimate.as_ref().map(|estimate| Figure::of(subject, key, estimate, 1.0)));
    };
    if let Some(limit) = &sync.limit_ns {
        for (id, name, estimate) in
            [("barrier", "barrier", &limit.barrier), ("fork-join", "fork and join", &limit.fork_join)]
        {
            push(LIMITS, format!("limit.{id}"), format!("limit, {name}"), "ns", &Some(estimate.clone()));
        }
    }
    for row in &sync.barriers {
        let (id, label) = team(&row.algorithm, &row.layout, row.threads, &row.mapping);
        push(BARRIERS, format!("barrier.{id}"), format!("barrier, {label}"), "ns", &row.ns);
    }
    for row in &sync.fork_join {
        // Of an earlier version, which is another quantity.
        let back_to_back = if row.by.is_empty() { "back-to-back" } else { "" };
        let (id, label) = team(&row.algorithm, back_to_back, row.threads, &row.mapping);
        for (part, estimate) in [("fork", &row.fork_ns), ("join", &row.join_ns), ("total", &row.total_ns)] {
            let label = match part {
                "total" => format!("fork and join, {label}"),
                part => format!("{part}, {label}"),
            };
            push(FORK_JOINS, format!("fork-join.{id}.{part}"), label, "ns", estimate);
        }
    }
    for row in &sync.peers {
        // Timed as ours were, and over them.
        let back_to_back = row.operation == "fork-join" && sync.is_back_to_back();
        let mark = if back_to_back { "back-to-back" } else { "" };
        let (id, label) = team(&row.name, &row.operation, row.threads, mark);
        push(PEERS, format!("peer.{id}"), label.clone(), "ns", &row.ns);
        push(PEERS, format!("peer.{id}.over-ours"), format!("{label}, over ours"), "ratio", &row.ratio);
    }
    figures
}

/// Who took part, for scripts and for people.
fn team(algorithm: &str, layout: &str, threads: u32, mapping: &str) -> (String, String) {
    let words = |last: String| {
        let words = [algorithm.to_owned(), layout.to_owned(), last, mapping.to_owned()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    (words(threads.to_string()).join("."), words(format!("{threads} threads")).join(", "))
}

fn points(subject: &Subject, name: &str, kernel: &Kernel) -> Vec<Figure> {
    let mut figures = Vec::new();
    for point in &kernel.points {
        let Some(size) = point.length.or(point.size) else { continue };
        let (id, label) = team(&point.barrier, "", point.threads, &point.mapping);
        let key = |part: &str, unit| {
            let id = format!("sync.{name}.{size}.{id}{part}");
            let label = format!("{name} of {size}, {label}{}", part.replace('.', ", "));
            Key::new(SYNC, KERNELS + size_order(size), id, label, unit)
        };
        for (part, estimate) in [("", &point.seconds), (".waiting", &point.sync_seconds)] {
            let told = estimate.as_ref().filter(|_| part.is_empty() || point.threads > 1);
            figures.extend(told.map(|estimate| Figure::of(subject, key(part, "us"), estimate, 1e6)));
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use coho_profile::{ForkJoinTime, Inexact, SyncPeer};

    use super::*;
    use crate::report::figures;

    #[test]
    fn the_papers_figures_come_out_and_every_key_is_one() {
        let paper = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        let all = of(&paper);
        let value = |id: &str| all.iter().find(|figure| figure.key.id == id).map(|figure| figure.value);
        assert_eq!(value("sync.fork-join.fbs.16.total.ns"), Some(4800.0));
        assert_eq!(value("sync.daxpy.fbs-speed-up.short-loops.ratio"), Some(4.0));
        assert_eq!(value("sync.peer.hardware barrier of the SR8000.barrier.8.ns"), Some(3500.0));
        let inexact = |id: &str| all.iter().find(|figure| figure.key.id == id).unwrap().inexact;
        assert_eq!(inexact("sync.weather.sync-share.all.%"), Some(Inexact::Below));
        assert_eq!(inexact("sync.peer.hardware barrier of the SR8000.barrier.8.ns"), Some(Inexact::Between));
        assert_eq!(inexact("sync.fork-join.fbs.16.total.ns"), None);
        assert_eq!(figures::of(&paper).len(), all.len(), "no two figures have the same key");
    }

    #[test]
    fn regions_of_earlier_versions_share_no_key_with_ours() {
        let of_version = |by: &str| {
            let ns = Some(Estimate::exact(100.0));
            let peer = |operation: &str| SyncPeer {
                name: "libgomp".into(),
                operation: operation.into(),
                threads: 2,
                ns: ns.clone(),
                ratio: ns.clone(),
                ..SyncPeer::default()
            };
            let mut subject = Subject::load("published:nakamura-fbs").unwrap().remove(0);
            subject.published = false;
            subject.profile.sync = Some(Sync {
                fork_join: vec![ForkJoinTime {
                    algorithm: "fbs".into(),
                    by: by.into(),
                    threads: 2,
                    total_ns: ns.clone(),
                    ..ForkJoinTime::default()
                }],
                peers: vec![peer("barrier"), peer("fork-join")],
                ..Sync::default()
            });
            of(&subject).into_iter().map(|figure| figure.key.id).collect::<Vec<_>>()
        };
        let (earlier, ours) = (of_version(""), of_version("barrier"));
        let common: Vec<_> = earlier.iter().filter(|id| ours.contains(id)).collect();
        assert_eq!(common, ["sync.peer.libgomp.barrier.2.ns", "sync.peer.libgomp.barrier.2.over-ours.ratio"]);
        assert!(
            earlier.iter().any(|id| id == "sync.peer.libgomp.fork-join.2.back-to-back.ns"),
            "{earlier:?}"
        );
    }
}
