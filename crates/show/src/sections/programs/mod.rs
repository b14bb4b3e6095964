//! Programs that wait at barriers often, under several of them (Nakamura et al.): a loop by its length, and applications.

mod charts;

use std::collections::BTreeSet;

use coho_model::chance::{Family, Order};
use coho_profile::{Estimate, Kernel, KernelPoint, Profile, Sync, fitted};

use super::{barriers, ratios};
use crate::sections::prelude::*;

/// With more rows than this, the summary shows some sizes of a loop, or an application's largest, for one thread and the
/// largest team.
const FEW: usize = 12;
/// How many sizes of a loop it shows.
const SIZES: usize = 4;

pub(super) const ENTRY: Entry = Entry { id: "programs", title: "Programs under barriers", of: section };

/// What there is to show of them.
pub fn section(subject: &Subject) -> Option<Section> {
    let sync = subject.profile.sync.as_ref()?;
    let ratios =
        ratios::table(subject, "program-ratios", "Ratios of programs", |name| !ratios::is_of_fork_join(name));
    if sync.kernels.is_empty() && ratios.is_none() {
        return None;
    }
    let mut section = ENTRY.section(headline(sync));
    section.summary(sync.kernels.values().find_map(|kernel| method::distance(&kernel.method)));
    for (name, kernel) in &sync.kernels {
        add(&mut section.parts, subject, name, kernel);
    }
    section.detail(ratios);
    Some(section)
}

/// What there is to show of one program.
pub fn parts(name: &str, kernel: &Kernel) -> Vec<Part> {
    let kernels = [(name.to_owned(), kernel.clone())].into();
    let sync = Some(Sync { kernels, ..Sync::default() });
    let mut parts = Vec::new();
    add(&mut parts, &Subject::new("", Profile { sync, ..Profile::default() }), name, kernel);
    parts
}

fn add(parts: &mut Vec<Part>, subject: &Subject, name: &str, kernel: &Kernel) {
    // Files are named by these.
    let (check, method_id) = match name {
        "daxpy" => ("daxpy-check", "daxpy-method"),
        "galerkin" => ("galerkin-check", "galerkin-method"),
        "weather" => ("weather-check", "weather-method"),
        _ => ("program-check", "program-method"),
    };
    let is_loop = is_loop(kernel);
    parts.summary(is_loop.then(|| charts::rates(subject, kernel)));
    parts.summary(points(subject, name, kernel));
    parts.detail(match is_loop {
        true => Some(charts::model(subject, name, kernel)),
        false => charts::waiting(subject, name, kernel),
    });
    parts.detail(constants(kernel));
    let fact = format!("largest relative error of {}", words::short(&kernel.invariant, 120));
    let error = kernel.invariant_error.map(|error| match error {
        0.0 => "0".to_owned(),
        _ => format!("{error:.1e}"),
    });
    parts.detail(Facts::new(check, format!("Checked, {}", words::short(name, 40))).facts([(fact, error)]));
    method::add(parts, method_id, &kernel.method);
}

/// Whether it is a loop of many lengths rather than an application.
fn is_loop(kernel: &Kernel) -> bool {
    kernel.points.iter().all(|point| point.size.is_none())
}

/// How much threads speed up each program under FBS.
fn headline(sync: &Sync) -> String {
    let gains = sync.kernels.iter().filter_map(|(name, kernel)| {
        if is_loop(kernel) {
            let (length, threads) = gains_from(kernel)?;
            return Some(format!("{threads} threads speed up a loop from {length} elements on"));
        }
        let largest = kernel.points.iter().filter_map(|point| point.size).max();
        let points = || kernel.points.iter().filter(|point| point.size == largest);
        if points().any(|point| point.disturbed) {
            return Some(format!(
                "{} was disturbed by other work: its speed is not known",
                words::short(name, 40)
            ));
        }
        let alone = points().find(|point| point.threads == 1)?;
        let team = points().filter(|point| point.barrier == "fbs").max_by_key(|point| point.threads)?;
        let [alone, of_team] = [barriers::shown(&alone.seconds)?, barriers::shown(&team.seconds)?];
        let speed = Figure::from(alone).over(&Figure::from(of_team)).in_words();
        let name = words::short(name, 40);
        Some(format!("{name} runs {speed} times as fast on {} threads as on one", team.threads))
    });
    gains.collect::<Vec<_>>().join("; ")
}

/// The least length from which on the largest team is quicker than one thread under FBS beyond chance, at every length that
/// was measured; and its threads.
fn gains_from(kernel: &Kernel) -> Option<(u64, u32)> {
    let points = || kernel.points.iter().filter(|point| !point.disturbed);
    let of_fbs = points().filter(|point| point.barrier == "fbs");
    let threads = of_fbs.map(|point| point.threads).max()?;
    let lengths: BTreeSet<u64> = kernel.points.iter().filter_map(|point| point.length).collect();
    let family = Family::of(lengths.len());
    let gains = |&length: &u64| {
        let time = |threads: u32, barrier: &str| {
            let is = |point: &&KernelPoint| {
                (point.length, point.threads, &*point.barrier) == (Some(length), threads, barrier)
            };
            points().find(is)?.seconds.as_ref()
        };
        let both = time(threads, "fbs").zip(time(1, "none"));
        both.is_some_and(|(team, alone)| family.compare(team, alone) == Order::Less)
    };
    Some((lengths.into_iter().rev().take_while(gains).last()?, threads))
}

fn median(estimate: &Option<Estimate>) -> Option<f64> {
    barriers::shown(estimate).map(|estimate| estimate.median)
}

/// `1 thread`, `fbs, sequential, 8 threads`.
fn team(point: &KernelPoint) -> String {
    match point.threads {
        1 => "1 thread".to_owned(),
        n => words::joined([point.barrier.as_str(), &point.mapping, &format!("{n} threads")], ", "),
    }
}

/// What a marked figure is worth.
const DISTURBED: &str =
    "!: other work took the CPUs during nearly all batches; what the program takes alone is not known.";

/// Every run of a program.
fn points<'a>(subject: &Subject, name: &str, kernel: &'a Kernel) -> TableOf<&'a KernelPoint> {
    let size = |point: &KernelPoint| point.length.or(point.size);
    let sizes = Vec::from_iter(BTreeSet::from_iter(kernel.points.iter().filter_map(size)));
    let last = sizes.len().saturating_sub(1);
    let shown: Vec<u64> = match is_loop(kernel) {
        true => (0..SIZES).filter_map(|at| sizes.get(at * last / (SIZES - 1)).copied()).collect(),
        false => sizes.last().copied().into_iter().collect(),
    };
    let largest = kernel.points.iter().map(|point| point.threads).max();
    let us = |of: &Option<Estimate>| Some(subject.scaled(of, 1e6)?.format(Format::Plain));
    let waits = |point: &KernelPoint| point.threads > 1;
    Table::of(words::short(name, 40), words::short(name, 40), &kernel.points)
        .figures(if is_loop(kernel) { "length" } else { "size" }, "", |point| point.size.or(point.length))
        .text("team", team)
        .compared("time", "us", "us", |point| {
            Some(us(&point.seconds)?.marked(if point.disturbed { "!" } else { "" }))
        })
        .column(Column::figures("waiting", "us").compared("waiting.us").detail(), |point| {
            us(&point.sync_seconds).filter(|_| waits(point))
        })
        .figures("waiting", "", |point| {
            let share = median(&point.sync_seconds)? / median(&point.seconds)?;
            waits(point).then(|| Format::Percent.of(share))
        })
        .figures("GFLOP/s", "", |point| median(&point.gflops))
        .column(Column::figures("disturbed", "").detail(), |point| {
            (point.disturbed_batches > 0).then_some(point.disturbed_batches)
        })
        .note_if(kernel.points.iter().any(|point| point.disturbed), DISTURBED)
        .detail_if(|point| {
            let is_shown = size(point).is_some_and(|size| shown.contains(&size));
            let is_shown = is_shown && (point.threads == 1 || Some(point.threads) == largest);
            kernel.points.len() > FEW && !is_shown
        })
        .keyed_where(|point| {
            let size = size(point)?;
            let (id, label) = barriers::key(&point.barrier, "", point.threads, &point.mapping);
            Some((format!("sync.{name}.{size}.{id}"), format!("{name} of {size}, {label}")))
        })
}

/// Why a region of a kernel may take longer than `coho barrier`'s fork and join.
const REGION_BESIDE_BARRIERS: &str = "its leader also posts the work in a line that every other member fetches, so a \
                                      region's fork and join may take more than the two barriers of `coho barrier`";

/// The constants of the model of a loop's time, T = S + P L / n + T_F + T_B, in words.
fn constants(kernel: &Kernel) -> Facts {
    let is_of_teams = kernel.fitted.keys().any(|name| name.starts_with(fitted::FORK_JOIN));
    Facts::new("daxpy-constants", "Fitted: T = S + P length / threads + T_F + T_B (Nakamura et al.)")
        .facts(kernel.fitted.iter().take(400).map(|(name, value)| constant(name, *value)))
        .facts([("a region", is_of_teams.then(|| REGION_BESIDE_BARRIERS.to_owned()))])
}

/// A constant in words, and its figure: `P, an element on one thread` and `12 ns`.
fn constant(name: &str, value: f64) -> (String, String) {
    let number = words::number(value);
    let ns = |what: &str| (what.to_owned(), format!("{number} ns"));
    match name {
        fitted::SERIAL => ns("S, a loop beside its elements"),
        fitted::ELEMENT => ns("P, an element on one thread"),
        fitted::RESIDUAL => ("relative residual, root mean square".into(), number),
        fitted::LEFT_OUT => ("the same for lengths left out of the fit".into(), number),
        fitted::LONGEST => ("longest loop fitted".into(), format!("{number} elements")),
        other => match other.strip_prefix(fitted::FORK_JOIN) {
            Some(team) => ns(&format!("fork and join (T_F + T_B), {}", words::short(team, 60))),
            None => (words::short(other, 80), number),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Colour, Plot};
    use crate::part::Body;

    fn point(length: u64, threads: u32, ns: f64) -> KernelPoint {
        let seconds = Estimate { low: 0.95e-9 * ns, high: 1.05e-9 * ns, n: 30, ..Estimate::exact(1e-9 * ns) };
        KernelPoint {
            length: Some(length),
            threads,
            barrier: if threads > 1 { "fbs" } else { "none" }.into(),
            mapping: if threads > 1 { "sequential" } else { "" }.into(),
            gflops: Some(Estimate::exact(2.0 * length as f64 / ns)),
            seconds: Some(seconds),
            ..KernelPoint::default()
        }
    }

    #[test]
    fn a_headline_says_how_sure_its_ratio_is() {
        let of = |n: u64, team_ns: f64| {
            let sized = |threads, ns| {
                let mut point = KernelPoint { size: Some(496), length: None, ..point(0, threads, ns) };
                point.seconds = point.seconds.map(|seconds| Estimate { n, ..seconds });
                point
            };
            let kernel = Kernel { points: vec![sized(1, 100.0), sized(2, team_ns)], ..Kernel::default() };
            headline(&Sync { kernels: [("galerkin".to_owned(), kernel)].into(), ..Sync::default() })
        };
        let times = |words: &str| format!("galerkin runs {words} times as fast on 2 threads as on one");
        assert_eq!(of(9, 150.0), times("0.67 (0.60–0.74)"));
        assert_eq!(of(3, 150.0), times("0.67 [0.60–0.74, n=3]"));
        assert_eq!(of(1, 150.0), times("0.67 (one sample)"));
    }

    #[test]
    fn a_loop_gains_where_every_longer_one_does_beyond_chance() {
        let of = |team: [f64; 3]| {
            let points = [64, 128, 256]
                .into_iter()
                .zip(team)
                .flat_map(|(length, ns)| [point(length, 1, length as f64), point(length, 2, ns)]);
            gains_from(&Kernel { points: points.collect(), ..Kernel::default() })
        };
        assert_eq!(of([200.0, 100.0, 150.0]), Some((128, 2)));
        assert_eq!(of([20.0, 126.0, 150.0]), Some((256, 2)), "126 of 128 ns is no gain");
        assert_eq!(of([20.0, 50.0, 300.0]), None);
    }

    #[test]
    fn loops_are_shown_by_length_and_constants_in_words() {
        let points = vec![point(64, 1, 28.0), point(64, 2, 280.0), point(128, 1, 56.0), point(128, 2, 290.0)];
        let mut kernel = Kernel { points, ..Kernel::default() };
        kernel.fitted.insert(coho_profile::fitted::fork_join("fbs", "sequential", 2), 852.0);
        kernel.fitted.insert(coho_profile::fitted::SERIAL.into(), 12.0);
        let parts = parts("daxpy", &kernel);
        let text = format!("{parts:?}");
        assert!(text.contains("\"length\"") && !text.contains("\"size\""), "{text}");
        assert!(text.contains("fork and join (T_F + T_B), fbs, sequential, 2 threads\", \"852 ns"), "{text}");
        assert!(text.contains("sync.daxpy.64.fbs.2.sequential"), "{text}");
        let Body::Chart(chart) = &parts[0].body else { panic!("{text}") };
        let Plot::Lines(series) = &chart.plot else { panic!("{text}") };
        assert_eq!(series.iter().map(|one| one.points.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(series[0].colour, Colour::GREY, "one thread is what teams are compared with");
    }

    #[test]
    fn without_programs_nothing_is_pretended() {
        assert!(section(&Subject::new("mine", Profile::default())).is_none());
        let sync = Some(Sync::default());
        assert!(section(&Subject::new("mine", Profile { sync, ..Profile::default() })).is_none());
    }
}
