//! What Nakamura et al. compare of teams: ratios of their regions and programs, and what a mapping of ranks to CPUs does
//! to computing and waiting.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{Estimate, ForkJoinTime, Inexact, Kernel, KernelPoint, Sync, fitted, ratio};

use crate::barrier::{Shortest, shortest};

/// What follows from the section `sync` alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Teams {
    /// The barrier of the largest team with the shortest median.
    pub shortest: Option<Shortest>,
    /// The ratios that the figures give, or that the section states without them, in the paper's order.
    pub ratios: Vec<Ratio>,
    /// Fork and join of the largest team by FBS, in ns.
    pub fbs_ns: Option<Estimate>,
    /// What the mapping does to `galerkin` and to `weather`; `None` of a program that was not run.
    pub mappings: [Option<Mappings>; 2],
    /// The time of each of a program's points by its fitted constants, in s.
    pub fitted_s: BTreeMap<String, Vec<Option<f64>>>,
}

impl Teams {
    /// Those of a section.
    pub fn of(sync: &Sync) -> Self {
        let largest = sync.barriers.iter().map(|row| row.threads).max();
        let by_constants = |(name, kernel): (&String, &Kernel)| {
            let seconds = |point: &KernelPoint| {
                let KernelPoint { threads, barrier, mapping, .. } = point;
                fitted::seconds(&kernel.fitted, point.length?, *threads, barrier, mapping)
            };
            (name.clone(), kernel.points.iter().map(seconds).collect())
        };
        Self {
            shortest: largest.and_then(|threads| shortest(sync, threads)),
            ratios: ratios(sync),
            fbs_ns: total(sync, "fbs", 1, None).cloned(),
            mappings: ["galerkin", "weather"].map(|name| mappings(sync.kernels.get(name)?)),
            fitted_s: sync.kernels.iter().map(by_constants).collect(),
        }
    }
}

/// A ratio or share.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// One of [`ratio`].
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// `%` of a share, nothing of a ratio.
    pub unit: &'static str,
    /// In this unit.
    pub value: f64,
    /// Within which it lies, if all figures behind it have intervals.
    pub interval: Option<(f64, f64)>,
    /// How many samples the figure behind it with the fewest rests on.
    pub samples: u64,
    /// How its source words it, where that is not exact.
    pub inexact: Option<Inexact>,
}

/// A ratio, its interval if it has one, and the samples that it rests on.
type Value = (f64, Option<(f64, f64)>, u64);

/// A ratio's name, what people call it, and how it follows from a section's figures.
type Definition = (&'static str, &'static str, fn(&Sync) -> Option<Value>);

/// In the paper's order.
const ALL: [Definition; 9] = [
    (ratio::ONE_LINE, "fork + join, FBS on one line / on separate lines", |sync| {
        fork_join(sync, 1, [("fbs-one-line", None), ("fbs", None)])
    }),
    (ratio::LOCK, "fork + join, lock / FBS", |sync| fork_join(sync, 1, [("lock", None), ("fbs", None)])),
    (ratio::MAPPING, "fork + join, binary tree / sequential", |sync| {
        fork_join(sync, 2, [("fbs", Some("binary-tree")), ("fbs", Some("sequential"))])
    }),
    (ratio::SHORT_LOOPS, "daxpy speed-up by FBS, shortest loop", |sync| {
        let daxpy = sync.kernels.get("daxpy")?;
        let shortest = daxpy.points.iter().filter_map(|point| point.length).min()?;
        let time = |barrier| {
            let mut points = of_barrier(daxpy, barrier, 1);
            points.find(|point| point.length == Some(shortest))?.seconds.as_ref()
        };
        over(time("lock"), time("fbs"))
    }),
    (ratio::PEAK, "daxpy speed-up by FBS, peak", |sync| {
        let daxpy = sync.kernels.get("daxpy")?;
        let peak = |barrier| {
            let rates = of_barrier(daxpy, barrier, 1).filter_map(|point| point.gflops.as_ref());
            rates.max_by(|a, b| a.median.total_cmp(&b.median))
        };
        over(peak("fbs"), peak("lock"))
    }),
    (ratio::UNTUNED, "untuned program, FBS / lock", |sync| by_barrier(sync, "galerkin")),
    (ratio::TUNED, "tuned program, FBS / lock", |sync| by_barrier(sync, "weather")),
    (ratio::WAITING_HALF, "tuned program, waiting, half the CPUs", |sync| waiting(sync, 2)),
    (ratio::WAITING_ALL, "tuned program, waiting, all CPUs", |sync| waiting(sync, 1)),
];

fn ratios(sync: &Sync) -> Vec<Ratio> {
    let stated = |name: &str| {
        let estimate = sync.ratios.get(name)?;
        let interval = (estimate.low < estimate.high).then_some((estimate.low, estimate.high));
        Some(((estimate.median, interval, estimate.n), sync.inexact.get(name).copied()))
    };
    let one = |&(name, label, measured): &Definition| {
        let (scale, unit) = match name {
            ratio::WAITING_HALF | ratio::WAITING_ALL => (100.0, "%"),
            _ => (1.0, ""),
        };
        let measured = measured(sync).map(|value| (value, None));
        let ((value, interval, samples), inexact) = measured.or_else(|| stated(name))?;
        let (value, interval) = (value * scale, interval.map(|(low, high)| (low * scale, high * scale)));
        value.is_finite().then_some(Ratio { name, label, unit, value, interval, samples, inexact })
    };
    ALL.iter().filter_map(one).collect()
}

/// Fork and join of the largest team's `part`-th part: by one algorithm over that by another.
fn fork_join(sync: &Sync, part: u32, [a, b]: [(&str, Option<&str>); 2]) -> Option<Value> {
    over(total(sync, a.0, part, a.1), total(sync, b.0, part, b.1))
}

/// Fork and join of the largest team's `part`-th part, in the first mapping that has it.
fn total<'a>(sync: &'a Sync, algorithm: &str, part: u32, mapping: Option<&str>) -> Option<&'a Estimate> {
    let all = sync.fork_join.iter().map(|row| row.threads).max()?;
    let mine = |row: &&ForkJoinTime| {
        row.algorithm == algorithm
            && row.by == "barrier"
            && u64::from(row.threads) * u64::from(part) == u64::from(all)
            && mapping.is_none_or(|mapping| row.mapping == mapping)
    };
    sync.fork_join.iter().find(mine)?.total_ns.as_ref()
}

/// The points of the largest team's `part`-th part under a barrier, in the first mapping that has them.
fn of_barrier<'a>(kernel: &'a Kernel, barrier: &'a str, part: u32) -> impl Iterator<Item = &'a KernelPoint> {
    let all = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
    let mine = move |point: &&KernelPoint| {
        point.barrier == barrier && u64::from(point.threads) * u64::from(part) == u64::from(all)
    };
    let mapping = kernel.points.iter().find(mine).map(|point| point.mapping.as_str());
    let undisturbed = kernel.points.iter().filter(|point| !point.disturbed);
    undisturbed.filter(mine).filter(move |point| Some(point.mapping.as_str()) == mapping)
}

/// A program's time by FBS over that by the lock, of the largest problem.
fn by_barrier(sync: &Sync, program: &str) -> Option<Value> {
    let kernel = sync.kernels.get(program)?;
    let time = |barrier| of_barrier(kernel, barrier, 1).max_by_key(|point| point.size)?.seconds.as_ref();
    over(time("fbs"), time("lock"))
}

/// The share of waiting in the tuned program's time by FBS, of the largest problem.
fn waiting(sync: &Sync, part: u32) -> Option<Value> {
    let weather = sync.kernels.get("weather")?;
    let point = of_barrier(weather, "fbs", part).max_by_key(|point| point.size)?;
    over(point.sync_seconds.as_ref(), point.seconds.as_ref())
}

fn over(a: Option<&Estimate>, b: Option<&Estimate>) -> Option<Value> {
    let (a, b) = (a?, b?);
    let have_intervals = a.has_interval() && b.has_interval() && b.low > 0.0;
    let interval = have_intervals.then(|| (a.low / b.high, a.high / b.low));
    (b.median > 0.0).then(|| (a.median / b.median, interval, a.n.min(b.n)))
}

/// A row of the paper's Table 4-1: per cent of the binary tree's total, or of the sequential mapping's if both place the team
/// alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Without waiting.
    pub compute: f64,
    /// Waiting for others, the mean over the threads.
    pub sync: f64,
    /// Both.
    pub total: f64,
}

/// A team in the binary tree's mapping and in the sequential one, as far as they were run.
pub type Mappings = [Option<Parts>; 2];

/// Of the largest problem, the largest team that the mappings place differently, else the largest.
fn mappings(kernel: &Kernel) -> Option<Mappings> {
    let largest = kernel.points.iter().filter_map(|point| point.size).max()?;
    let parts_of = |mapping: &str, threads: u32| {
        let is = |point: &&KernelPoint| {
            (&*point.barrier, &*point.mapping, point.size, point.threads)
                == ("fbs", mapping, Some(largest), threads)
        };
        let point = kernel.points.iter().find(is).filter(|point| !point.disturbed)?;
        let total = point.seconds.as_ref()?.median;
        let sync = point.sync_seconds.as_ref().map_or(0.0, |waiting| waiting.median).min(total);
        Some(Parts { compute: total - sync, sync, total })
    };
    let sizes: BTreeSet<u32> = kernel.points.iter().map(|point| point.threads).collect();
    let teams = sizes.into_iter().rev().filter(|&threads| threads > 1);
    let teams: Vec<Mappings> = teams
        .map(|threads| ["binary-tree", "sequential"].map(|mapping| parts_of(mapping, threads)))
        .collect();
    let both = *teams.iter().find(|both| both.iter().all(Option::is_some)).or(teams.first())?;
    let whole = both[0].or(both[1])?.total;
    let percent = |seconds: f64| 100.0 * seconds / whole;
    Some(both.map(|parts| {
        let Parts { compute, sync, total } = parts?;
        Some(Parts { compute: percent(compute), sync: percent(sync), total: percent(total) })
    }))
}

#[cfg(test)]
mod tests {
    use coho_profile::published;

    use super::*;

    fn region(threads: u32, algorithm: &str, mapping: &str, ns: f64) -> ForkJoinTime {
        ForkJoinTime {
            algorithm: algorithm.into(),
            by: "barrier".into(),
            threads,
            mapping: mapping.into(),
            total_ns: Some(Estimate::exact(ns)),
            ..ForkJoinTime::default()
        }
    }

    fn run(barrier: &str, mapping: &str, threads: u32, size: u64, seconds: f64, waiting: f64) -> KernelPoint {
        KernelPoint {
            size: Some(size),
            threads,
            barrier: barrier.into(),
            mapping: mapping.into(),
            seconds: Some(Estimate::exact(seconds)),
            sync_seconds: Some(Estimate::exact(waiting)),
            ..KernelPoint::default()
        }
    }

    #[test]
    fn the_papers_ratios_come_out_of_its_profile() {
        let paper = published::read("nakamura-fbs").unwrap();
        let ratios = ratios(paper.machines[0].1.sync.as_ref().unwrap());
        assert_eq!(ratios.len(), ALL.len());
        let of = |name: &str| ratios.iter().find(|ratio| ratio.name == name).unwrap();
        assert!((of(ratio::LOCK).value - 5.8).abs() < 1e-9);
        assert_eq!((of(ratio::PEAK).value, of(ratio::PEAK).interval), (1.3, None));
        assert_eq!(of(ratio::WAITING_ALL).inexact, Some(Inexact::Below));
        assert_eq!(
            (of(ratio::TUNED).interval, of(ratio::TUNED).inexact),
            (Some((0.7, 0.8)), Some(Inexact::Between))
        );
        assert_eq!((of(ratio::UNTUNED).value, of(ratio::UNTUNED).inexact), (0.5, Some(Inexact::About)));
    }

    #[test]
    fn measured_ratios_are_of_the_largest_team_and_its_half() {
        let points = vec![
            run("lock", "", 4, 9, 8.0, 4.0),
            run("fbs", "", 4, 9, 6.0, 1.5),
            run("fbs", "", 4, 3, 1.0, 1.0),
        ];
        let sync = Sync {
            fork_join: vec![
                region(2, "fbs", "sequential", 50.0),
                region(2, "fbs", "binary-tree", 90.0),
                region(4, "fbs", "sequential", 100.0),
                region(4, "lock", "sequential", 400.0),
            ],
            kernels: [("weather".to_owned(), Kernel { points, ..Kernel::default() })].into(),
            ..Sync::default()
        };
        let ratios: Vec<_> = ratios(&sync).into_iter().map(|ratio| (ratio.name, ratio.value)).collect();
        let expected =
            [(ratio::LOCK, 4.0), (ratio::MAPPING, 1.8), (ratio::TUNED, 0.75), (ratio::WAITING_ALL, 25.0)];
        assert_eq!(ratios, expected);
    }

    #[test]
    fn the_mapping_table_is_of_the_largest_team_that_mappings_differ_for() {
        let points = vec![
            run("fbs", "sequential", 16, 64, 9.0, 1.0),
            run("fbs", "sequential", 8, 64, 6.0, 0.5),
            run("fbs", "binary-tree", 8, 64, 5.0, 1.0),
        ];
        let tree = Parts { compute: 80.0, sync: 20.0, total: 100.0 };
        let sequential = Parts { compute: 110.0, sync: 10.0, total: 120.0 };
        let both = mappings(&Kernel { points, ..Kernel::default() });
        assert_eq!(both, Some([Some(tree), Some(sequential)]));
        let alone = Kernel { points: vec![run("fbs", "sequential", 2, 64, 4.0, 1.0)], ..Kernel::default() };
        let [tree, sequential] = mappings(&alone).unwrap();
        assert_eq!((tree, sequential.unwrap().compute), (None, 75.0));
    }
}
