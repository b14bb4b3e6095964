//! The ratios of Nakamura et al., of a measured section as of the published one.

use coho_profile::published::nakamura_fbs::ratio;
use coho_profile::{Estimate, ForkJoinTime, Inexact, Kernel, KernelPoint, Sync};

/// A ratio or share.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// One of [`ratio`].
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// `ratio`, or `%` of shares.
    pub unit: &'static str,
    /// In its unit.
    pub value: f64,
    /// Within which it lies if all its figures lie in their intervals.
    pub interval: Option<(f64, f64)>,
    /// How a source words it that does not tell it exactly.
    pub inexact: Option<Inexact>,
}

/// In the paper's order.
const ALL: [(&str, &str); 9] = [
    (ratio::ONE_LINE, "fork + join, FBS on one line / on separate lines"),
    (ratio::LOCK, "fork + join, lock / FBS"),
    (ratio::MAPPING, "fork + join, binary tree / sequential"),
    (ratio::SHORT_LOOPS, "daxpy speed-up by FBS, shortest loop"),
    (ratio::PEAK, "daxpy speed-up by FBS, peak"),
    (ratio::UNTUNED, "untuned program, FBS / lock"),
    (ratio::TUNED, "tuned program, FBS / lock"),
    (ratio::WAITING_HALF, "tuned program, waiting, half the CPUs"),
    (ratio::WAITING_ALL, "tuned program, waiting, all CPUs"),
];

/// The ratios that a section's figures give, or that it tells without them.
pub fn of(sync: &Sync) -> Vec<Ratio> {
    let told = |name: &str| {
        let estimate = sync.ratios.get(name)?;
        let interval = (estimate.low < estimate.high).then_some((estimate.low, estimate.high));
        Some((estimate.median, interval, sync.inexact.get(name).copied()))
    };
    let one = |&(name, label): &(&'static str, &'static str)| {
        let measured = measured(sync, name).map(|(value, interval)| (value, interval, None));
        let (value, interval, inexact) = measured.or_else(|| told(name))?;
        let (unit, scale) = match name {
            ratio::WAITING_HALF | ratio::WAITING_ALL => ("%", 100.0),
            _ => ("ratio", 1.0),
        };
        let interval = interval.map(|(low, high)| (scale * low, scale * high));
        value.is_finite().then_some(Ratio { name, label, unit, value: scale * value, interval, inexact })
    };
    ALL.iter().filter_map(one).collect()
}

/// Fork and join of the largest team by FBS: as the paper's node of 16 CPUs has it.
pub fn all_cpus(sync: &Sync) -> Option<&Estimate> {
    total(sync, "fbs", 1, None)
}

type Value = (f64, Option<(f64, f64)>);

fn measured(sync: &Sync, name: &str) -> Option<Value> {
    let (daxpy, weather) = (sync.kernels.get("daxpy"), sync.kernels.get("weather"));
    match name {
        ratio::ONE_LINE => over(total(sync, "fbs-one-line", 1, None)?, total(sync, "fbs", 1, None)?),
        ratio::LOCK => over(total(sync, "lock", 1, None)?, total(sync, "fbs", 1, None)?),
        ratio::MAPPING => {
            over(total(sync, "fbs", 2, Some("binary-tree"))?, total(sync, "fbs", 2, Some("sequential"))?)
        }
        ratio::SHORT_LOOPS => {
            let shortest = daxpy?.points.iter().filter_map(|point| point.length).min()?;
            let time = |barrier| {
                let mut points = of_barrier(daxpy?, barrier, 1);
                points.find(|point| point.length == Some(shortest))?.seconds.as_ref()
            };
            over(time("lock")?, time("fbs")?)
        }
        ratio::PEAK => {
            let peak = |barrier| {
                let rates = of_barrier(daxpy?, barrier, 1).filter_map(|point| point.gflops.as_ref());
                rates.max_by(|a, b| a.median.total_cmp(&b.median))
            };
            over(peak("fbs")?, peak("lock")?)
        }
        ratio::UNTUNED => by_barrier(sync.kernels.get("galerkin")?),
        ratio::TUNED => by_barrier(weather?),
        ratio::WAITING_HALF => waiting(weather?, 2),
        ratio::WAITING_ALL => waiting(weather?, 1),
        _ => None,
    }
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
    kernel.points.iter().filter(mine).filter(move |point| Some(point.mapping.as_str()) == mapping)
}

/// The largest problem's time by FBS over that by the lock.
fn by_barrier(kernel: &Kernel) -> Option<Value> {
    let time = |barrier| of_barrier(kernel, barrier, 1).max_by_key(|point| point.size)?.seconds.as_ref();
    over(time("fbs")?, time("lock")?)
}

/// The share of waiting in the largest problem's time by FBS.
fn waiting(kernel: &Kernel, part: u32) -> Option<Value> {
    let point = of_barrier(kernel, "fbs", part).max_by_key(|point| point.size)?;
    over(point.sync_seconds.as_ref()?, point.seconds.as_ref()?)
}

fn over(a: &Estimate, b: &Estimate) -> Option<Value> {
    let told = a.has_interval() && b.has_interval() && b.low > 0.0;
    (b.median > 0.0).then(|| (a.median / b.median, told.then(|| (a.low / b.high, a.high / b.low))))
}

#[cfg(test)]
mod tests {
    use coho_profile::published;

    use super::*;

    #[test]
    fn the_papers_ratios_come_out_of_its_profile() {
        let paper = published::read("nakamura-fbs").unwrap();
        let ratios = of(paper.machines[0].1.sync.as_ref().unwrap());
        assert_eq!(ratios.len(), ALL.len());
        let value = |name: &str| ratios.iter().find(|ratio| ratio.name == name).unwrap();
        assert!((value(ratio::LOCK).value - 5.8).abs() < 1e-9);
        assert_eq!((value(ratio::PEAK).value, value(ratio::PEAK).interval), (1.3, None));
        let (low, high) = value(ratio::TUNED).interval.unwrap();
        assert!((low - 0.7).abs() < 1e-9 && (high - 0.8).abs() < 1e-9);
    }

    #[test]
    fn measured_ratios_are_of_the_largest_team_and_its_half() {
        let row = |threads, algorithm: &str, mapping: &str, ns| ForkJoinTime {
            algorithm: algorithm.into(),
            by: "barrier".into(),
            threads,
            mapping: mapping.into(),
            total_ns: Some(Estimate { n: 10, ..Estimate::exact(ns) }),
            ..ForkJoinTime::default()
        };
        let point = |barrier: &str, size, seconds, sync| KernelPoint {
            size: Some(size),
            threads: 4,
            barrier: barrier.into(),
            mapping: "sequential".into(),
            seconds: Some(Estimate::exact(seconds)),
            sync_seconds: Some(Estimate::exact(sync)),
            ..KernelPoint::default()
        };
        let weather = Kernel {
            points: vec![point("lock", 9, 8.0, 4.0), point("fbs", 9, 6.0, 1.5), point("fbs", 3, 1.0, 1.0)],
            ..Kernel::default()
        };
        let sync = Sync {
            fork_join: vec![
                row(2, "fbs", "sequential", 50.0),
                row(2, "fbs", "binary-tree", 90.0),
                row(4, "fbs", "sequential", 100.0),
                row(4, "lock", "sequential", 400.0),
            ],
            kernels: [("weather".to_owned(), weather)].into(),
            ..Sync::default()
        };
        let ratios: Vec<_> = of(&sync).into_iter().map(|ratio| (ratio.name, ratio.value)).collect();
        let expected =
            [(ratio::LOCK, 4.0), (ratio::MAPPING, 1.8), (ratio::TUNED, 0.75), (ratio::WAITING_ALL, 25.0)];
        assert_eq!(ratios, expected);
    }
}
