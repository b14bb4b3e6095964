//! The ratios of Nakamura et al., of a measured section as of the published one.

use coho_profile::{Estimate, ForkJoinTime, Kernel, KernelPoint, Sync, ratio};

use crate::sections::prelude::*;

/// A ratio or share.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ratio {
    /// One of [`ratio`].
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// `%` of a share, nothing of a ratio; `ns` of the time that stands in the same table.
    pub unit: &'static str,
    /// In this unit. Its interval holds if those of all figures behind it do.
    pub figure: Figure,
}

/// A ratio's name, what people call it, and how it follows from a section's figures.
type Definition = (&'static str, &'static str, fn(&Sync) -> Option<Figure>);

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

/// The ratios that a section's figures give, or that it states without them.
pub(crate) fn of(sync: &Sync) -> Vec<Ratio> {
    let stated = |name: &str| {
        let estimate = sync.ratios.get(name)?;
        let interval = (estimate.low < estimate.high).then_some((estimate.low, estimate.high));
        Some(Figure::within(estimate.median, interval, 1).worded(sync.inexact.get(name).copied()))
    };
    let one = |&(name, label, measured): &Definition| {
        let (scale, unit) = match name {
            ratio::WAITING_HALF | ratio::WAITING_ALL => (100.0, "%"),
            _ => (1.0, ""),
        };
        let figure = measured(sync).or_else(|| stated(name))?.scaled(scale);
        figure.value.is_finite().then_some(Ratio { name, label, unit, figure })
    };
    ALL.iter().filter_map(one).collect()
}

/// Whether a ratio is one of fork and join, rather than of programs.
pub(super) fn is_of_fork_join(ratio: &Ratio) -> bool {
    ratio.name.starts_with("fork-join.")
}

/// Those of a kind as a table; `None` if there are none.
pub(super) fn table(subject: &Subject, id: &str, title: &str, is: fn(&Ratio) -> bool) -> Option<Table> {
    let sync = subject.profile.sync.as_ref()?;
    let mut rows: Vec<_> = of(sync).into_iter().filter(is).collect();
    if id.starts_with("fork-join")
        && let Some(ns) = total(sync, "fbs", 1, None)
    {
        // As the paper's node has it, whatever the number of CPUs: for comparison with others.
        let (name, label) = ("fork-join.fbs.all", "fork + join, FBS, all CPUs");
        rows.push(Ratio { name, label, unit: "ns", figure: subject.figure(ns) });
    }
    let columns = [("ratio", "", "ratio"), ("share", "%", "%"), ("", "ns", "ns")];
    let table = Table::of(id, title, &rows)
        .text("of the largest team", |one| one.label)
        .columns_of(
            columns,
            |(name, unit, key)| Column::figures(name, unit).compared(key),
            |one, (_, unit, _)| (one.unit == unit).then(|| one.figure.clone()),
        )
        .keyed(|one| (format!("sync.{}", one.name), one.label));
    (!rows.is_empty()).then(|| table.done())
}

/// Fork and join of the largest team's `part`-th part: by one algorithm over that by another.
fn fork_join(sync: &Sync, part: u32, [a, b]: [(&str, Option<&str>); 2]) -> Option<Figure> {
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
    kernel.points.iter().filter(mine).filter(move |point| Some(point.mapping.as_str()) == mapping)
}

/// A program's time by FBS over that by the lock, of the largest problem.
fn by_barrier(sync: &Sync, program: &str) -> Option<Figure> {
    let kernel = sync.kernels.get(program)?;
    let time = |barrier| of_barrier(kernel, barrier, 1).max_by_key(|point| point.size)?.seconds.as_ref();
    over(time("fbs"), time("lock"))
}

/// The share of waiting in the tuned program's time by FBS, of the largest problem.
fn waiting(sync: &Sync, part: u32) -> Option<Figure> {
    let weather = sync.kernels.get("weather")?;
    let point = of_barrier(weather, "fbs", part).max_by_key(|point| point.size)?;
    over(point.sync_seconds.as_ref(), point.seconds.as_ref())
}

fn over(a: Option<&Estimate>, b: Option<&Estimate>) -> Option<Figure> {
    let (a, b) = (a?, b?);
    let have_intervals = a.has_interval() && b.has_interval() && b.low > 0.0;
    let interval = have_intervals.then(|| (a.low / b.high, a.high / b.low));
    (b.median > 0.0).then(|| Figure::within(a.median / b.median, interval, 1))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Inexact, published};

    use super::*;
    use crate::testing::{region, run};

    #[test]
    fn the_papers_ratios_come_out_of_its_profile() {
        let paper = published::read("nakamura-fbs").unwrap();
        let ratios = of(paper.machines[0].1.sync.as_ref().unwrap());
        assert_eq!(ratios.len(), ALL.len());
        let figure = |name: &str| &ratios.iter().find(|ratio| ratio.name == name).unwrap().figure;
        assert!((figure(ratio::LOCK).value - 5.8).abs() < 1e-9);
        assert_eq!((figure(ratio::PEAK).value, figure(ratio::PEAK).interval()), (1.3, None));
        assert_eq!(figure(ratio::WAITING_ALL).inexact, Some(Inexact::Below));
        assert_eq!(figure(ratio::TUNED).text(), "0.70–0.80");
        assert_eq!(figure(ratio::UNTUNED).text(), "≈ 0.50");
    }

    #[test]
    fn measured_ratios_are_of_the_largest_team_and_its_half() {
        let row = |threads, algorithm, mapping, ns| region(algorithm, "barrier", threads, mapping, ns);
        let points = vec![run("lock", 9, 8.0, 4.0), run("fbs", 9, 6.0, 1.5), run("fbs", 3, 1.0, 1.0)];
        let sync = Sync {
            fork_join: vec![
                row(2, "fbs", "sequential", 50.0),
                row(2, "fbs", "binary-tree", 90.0),
                row(4, "fbs", "sequential", 100.0),
                row(4, "lock", "sequential", 400.0),
            ],
            kernels: [("weather".to_owned(), Kernel { points, ..Kernel::default() })].into(),
            ..Sync::default()
        };
        let ratios: Vec<_> = of(&sync).into_iter().map(|ratio| (ratio.name, ratio.figure.value)).collect();
        let expected =
            [(ratio::LOCK, 4.0), (ratio::MAPPING, 1.8), (ratio::TUNED, 0.75), (ratio::WAITING_ALL, 25.0)];
        assert_eq!(ratios, expected);
    }
}
