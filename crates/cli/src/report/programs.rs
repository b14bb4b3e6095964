//! The page's section on programs under barriers: the paper's Figs. 3-3 and 4-5 to 4-7 and Table 4-1.

use coho_probe::kernels::fit;
use coho_profile::published::nakamura_fbs::{self, Parts};
use coho_profile::{Estimate, Kernel, KernelPoint};
use maud::{Markup, html};

use super::barriers::MACHINE;
use super::charts::Chart;
use super::charts::sync::{Series, Sizes, Stack, Style, by_size, stacked};
use super::subject::Subject;
use super::{calls, scale, tables, text};

/// Points of one table, at most.
const MOST: usize = 400;

/// Programs with the paper's table, as the profile and as the paper name them.
const APPLICATIONS: [(&str, &str, &str); 2] = [
    (
        "galerkin",
        "galgel",
        "Untuned: natural convection by a spectral Galerkin method, many short parallel loops",
    ),
    ("weather", "weather", "Tuned: a shallow-water model in one parallel region"),
];

/// Charts and tables of a profile's programs. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let kernels = subject.profile.sync.as_ref().map(|sync| &sync.kernels);
    let kernel = |name: &str| kernels.and_then(|kernels| kernels.get(name));
    if subject.published {
        return mapping_table(&[None, None]);
    }
    if kernels.is_none_or(|kernels| kernels.is_empty()) {
        return html! { p.missing { "Not measured: the profile has no programs; `coho kernels` runs them." } };
    }
    let daxpy = kernel("daxpy").map(|kernel| daxpy(kernel, id, &mut figure));
    let applications = APPLICATIONS.map(|(name, ..)| kernel(name));
    let bars: Vec<Markup> = APPLICATIONS
        .iter()
        .zip(&applications)
        .filter_map(|(&(name, _, what), kernel)| Some(application(name, what, (*kernel)?, id, &mut figure)))
        .collect();
    html! {
        @if let Some(daxpy) = &daxpy { (daxpy) }
        @for bars in &bars { (bars) }
        @if applications.iter().any(Option::is_some) { (mapping_table(&applications)) }
    }
}

fn daxpy(kernel: &Kernel, id: &str, figure: &mut impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let sizes = Sizes { title: "loop length (logarithmic)", all: false, tick: |n| n.to_string() };
    let rates = rates(kernel);
    let rate_chart = (!rates.is_empty()).then(|| {
        let caption = html! {
            strong { "A(i) = B(i) + s C(i) by loop length " } "(Nakamura et al., Fig. 4-5). Each loop is a parallel region; "
            "short loops are all fork and join, long ones leave the caches. Dashed: binary-tree mapping."
        };
        let title = "Rate of a loop by its length";
        figure(by_size(format!("{id}-daxpy"), title, &sizes, "GFLOP/s (logarithmic)", &rates), &caption)
    });
    let model = model(kernel);
    let model_chart = (!model.is_empty()).then(|| {
        let caption = html! {
            strong { "The model beside the measurement " } "(Nakamura et al., Fig. 3-3): T = S + P length / n + T_F + T_B, lines, fitted to the "
            "points up to " (fitted(kernel, fit::LONGEST)) " elements, beyond which data come from farther away."
        };
        let title = "Time of a loop, measured and by the model";
        figure(by_size(format!("{id}-daxpy-model"), title, &sizes, "ns a loop (logarithmic)", &model), &caption)
    });
    html! {
        h4 { "A loop of any length" }
        @if let Some(chart) = &rate_chart { (chart) }
        @if let Some(chart) = &model_chart { (chart) }
        (constants(kernel))
        (told(kernel))
    }
}

/// A loop's rate by its length, for each team.
pub fn rates(kernel: &Kernel) -> Vec<Series> {
    lines(kernel, "GFLOP/s", |point| point.gflops.as_ref().map(|rate| rate.median))
}

fn median(estimate: &Option<Estimate>) -> Option<f64> {
    estimate.as_ref().map(|estimate| estimate.median).filter(|value| scale::is_time(*value))
}

/// `1 thread`, `fbs, sequential, 8 threads`.
fn team(point: &KernelPoint) -> String {
    match point.threads {
        1 => "1 thread".to_owned(),
        n => format!("{}, {}, {n} threads", point.barrier, point.mapping),
    }
}

/// The teams of a kernel in the order in which they are first met, one thread first.
fn teams(kernel: &Kernel) -> Vec<&KernelPoint> {
    let mut teams: Vec<&KernelPoint> = Vec::new();
    for point in kernel.points.iter().take(10 * MOST) {
        if teams.len() < 24 && !teams.iter().any(|other| team(other) == team(point)) {
            teams.push(point);
        }
    }
    teams.sort_by_key(|point| (point.threads, point.mapping.clone()));
    teams
}

/// Smaller teams are paler.
fn colour(point: &KernelPoint, all: u32) -> usize {
    match (point.threads, point.barrier.as_str(), point.threads == all) {
        (1, ..) => 6,
        (_, "fbs", true) => 0,
        (_, "fbs", false) => 4,
        (_, "lock", true) => 5,
        (_, "lock", false) => 1,
        _ => 3,
    }
}

fn largest_team(kernel: &Kernel) -> u32 {
    kernel.points.iter().map(|point| point.threads).max().unwrap_or(0)
}

fn lines(kernel: &Kernel, unit: &str, of: impl Fn(&KernelPoint) -> Option<f64>) -> Vec<Series> {
    let all = largest_team(kernel);
    let line = |first: &KernelPoint| {
        let mine = kernel.points.iter().filter(|point| team(point) == team(first));
        let values = mine.filter_map(|point| {
            Some((point.length? as f64, of(point).filter(|value| scale::is_time(*value))?))
        });
        let points: Vec<_> = values.take(64).collect();
        let name = team(first);
        let hover = points
            .iter()
            .map(|(length, value)| format!("{name}, length {length}: {} {unit}", text::number(*value)));
        Series {
            hover: hover.collect(),
            colour: colour(first, all),
            style: if first.mapping == "binary-tree" { Style::Dashed } else { Style::Solid },
            name,
            points,
        }
    };
    teams(kernel).into_iter().map(line).filter(|series| !series.points.is_empty()).collect()
}

/// Points as measured and lines by the model, of one thread and the largest team.
pub fn model(kernel: &Kernel) -> Vec<Series> {
    let longest = kernel.fitted.get(fit::LONGEST).copied().unwrap_or(0.0);
    let all = largest_team(kernel);
    let mut series = Vec::new();
    for first in teams(kernel).into_iter().filter(|point| point.threads == 1 || point.threads == all) {
        let mine = |point: &&KernelPoint| team(point) == team(first);
        let (mut measured, mut by_model) = (Vec::new(), Vec::new());
        for point in kernel.points.iter().filter(mine).take(64) {
            let Some(length) = point.length.filter(|length| *length as f64 <= longest) else { continue };
            measured.extend(median(&point.seconds).map(|seconds| (length as f64, 1e9 * seconds)));
            let told = fit::predict(&kernel.fitted, length, point.threads, &point.barrier, &point.mapping);
            by_model.extend(told.map(|seconds| (length as f64, 1e9 * seconds)));
        }
        if measured.is_empty() || by_model.is_empty() {
            continue;
        }
        let name = team(first);
        for (style, points, what) in [(Style::Points, measured, "measured"), (Style::Line, by_model, "model")]
        {
            let hover = points
                .iter()
                .map(|(length, ns)| format!("{name}, length {length}, {what}: {} ns", text::number(*ns)));
            let hover = hover.collect();
            series.push(Series {
                name: format!("{name}: {what}"),
                colour: colour(first, all),
                style,
                points,
                hover,
            });
        }
    }
    series
}

fn fitted(kernel: &Kernel, name: &str) -> String {
    kernel.fitted.get(name).map_or("–".to_owned(), |value| text::number(*value))
}

/// Why a region of a kernel may take longer than `coho barrier`'s fork and join.
pub const REGION_BESIDE_BARRIERS: &str = "a region's fork and join may take more than coho barrier's two barriers: its leader also \
    posts what is to be done, a line that every other member fetches";

/// Whether a fork and join were fitted.
pub fn has_fork_join(kernel: &Kernel) -> bool {
    kernel.fitted.keys().any(|name| name.starts_with(fit::FORK_JOIN))
}

/// A constant of the model in words, and its figure: `P, an element on one thread` and `12 ns`. The figure is empty
/// where the words hold it.
pub fn constant(name: &str, value: f64) -> (String, String) {
    let number = text::number(value);
    let ns = |what: String| (what, format!("{number} ns"));
    match name {
        fit::SERIAL => ns("S, what a loop costs beside its elements".into()),
        fit::ELEMENT => ns("P, an element on one thread".into()),
        fit::RESIDUAL => ("root of the mean squared relative residual of the fit".into(), number),
        fit::LEFT_OUT => {
            ("the same of lengths that a fit had not seen, each by a fit to all others".into(), number)
        }
        fit::LONGEST => (format!("to loops of up to {number} elements"), String::new()),
        other => match other.strip_prefix(fit::FORK_JOIN) {
            Some(team) => ns(format!("fork and join (T_F + T_B), {}", text::tame(team))),
            None => (text::tame(other), number),
        },
    }
}

/// The model's constants.
fn constants(kernel: &Kernel) -> Markup {
    html! { @if !kernel.fitted.is_empty() {
        div.scroll { table.figures {
            thead { tr { th scope="col" { "Fitted" } th scope="col" { "" } } }
            tbody { @for (name, value) in kernel.fitted.iter().take(MOST) {
                @let (what, figure) = constant(name, *value);
                tr { th scope="row" { (text::short(&what, 100)) } td.number { (figure) } }
            } }
        } }
        @if has_fork_join(kernel) { p.note { (REGION_BESIDE_BARRIERS) "." } }
    } }
}

fn largest_problem(kernel: &Kernel) -> Option<u64> {
    kernel.points.iter().filter_map(|point| point.size).max()
}

/// Computing and waiting of the largest problem, in ms, for each team.
pub fn bars(kernel: &Kernel) -> Vec<Stack> {
    let largest = largest_problem(kernel);
    let bar = |first: &KernelPoint| {
        let mine = |point: &&KernelPoint| point.size == largest && team(point) == team(first);
        let point = kernel.points.iter().find(mine)?;
        let seconds = median(&point.seconds)?;
        let waiting = median(&point.sync_seconds).unwrap_or(0.0).min(seconds);
        Some(Stack { name: team(first), values: [1e3 * (seconds - waiting), 1e3 * waiting] })
    };
    teams(kernel).into_iter().filter_map(bar).collect()
}

/// Computing and waiting, of the largest problem by every team.
fn application(
    name: &str,
    what: &str,
    kernel: &Kernel,
    id: &str,
    figure: &mut impl FnMut(Chart, &Markup) -> Markup,
) -> Markup {
    let (largest, bars) = (largest_problem(kernel), bars(kernel));
    let chart = (!bars.is_empty()).then(|| {
        let figure_of_paper = if name == "galerkin" { "4-6" } else { "4-7" };
        let caption = html! {
            strong { (what) ". " } "Computing and waiting for others, mean over the threads, of the largest problem ("
            (largest.unwrap_or(0)) " unknowns or cells) (Nakamura et al., Fig. " (figure_of_paper) ")."
        };
        let title = format!("{name}: computing and waiting");
        let parts = ["computing", "waiting"];
        figure(stacked(format!("{id}-{name}"), &title, "ms a run", parts, &bars), &caption)
    });
    html! {
        h4 { (text::short(name, 40)) }
        @if let Some(chart) = &chart { (chart) }
        (points(kernel))
        (told(kernel))
    }
}

fn points(kernel: &Kernel) -> Markup {
    let us = |estimate: &Option<Estimate>| {
        estimate.as_ref().map_or("–".to_owned(), |seconds| text::scaled(seconds, 1e6))
    };
    let share = |point: &KernelPoint| {
        let share = 100.0 * median(&point.sync_seconds)? / median(&point.seconds)?;
        (point.threads > 1).then(|| format!("{share:.1} %"))
    };
    html! {
        details {
            summary { "All sizes as a table" }
            div.scroll { table.figures.events {
                thead { tr {
                    th scope="col" { "Size" } th scope="col" { "Team" } th scope="col" { "us a run (95 % interval)" }
                    th scope="col" { "waiting, us" } th scope="col" { "share" } th scope="col" { "GFLOP/s" }
                } }
                tbody { @for point in kernel.points.iter().take(MOST) {
                    tr {
                        th scope="row" { (point.size.or(point.length).map_or("–".to_owned(), |size| size.to_string())) }
                        td { (text::short(&team(point), 80)) }
                        td.number { (us(&point.seconds)) }
                        td.number { (if point.threads > 1 { us(&point.sync_seconds) } else { "–".to_owned() }) }
                        td.number { (share(point).unwrap_or("–".to_owned())) }
                        td.number { (median(&point.gflops).map_or("–".to_owned(), text::number)) }
                    }
                } }
            } }
        }
    }
}

/// What was checked, what is missing, and how it was run.
fn told(kernel: &Kernel) -> Markup {
    html! {
        @if let Some(error) = kernel.invariant_error {
            p { "Checked: largest relative error of " (text::short(&kernel.invariant, 120)) ": " (if error == 0.0 { "0".to_owned() } else { format!("{error:.1e}") }) "." }
        }
        (calls::missing(&kernel.method.not_available))
        details { summary { "How it was run" } (tables::method(&kernel.method)) }
    }
}

/// Table 4-1: what the mapping does to computing and waiting under FBS.
fn mapping_table(kernels: &[Option<&Kernel>; 2]) -> Markup {
    let paper = nakamura_fbs::figures().applications.mapping_table;
    let published = [paper.galgel, paper.weather];
    let measured = kernels.map(|kernel| kernel.and_then(measured_mappings));
    let cells = |parts: Option<Parts>, published: bool| {
        html! { @for value in [parts.map(|p| p.compute), parts.map(|p| p.sync), parts.map(|p| p.total)] {
            td.number.published[published] { (value.map_or("–".to_owned(), |value| format!("{value:.1}"))) }
        } }
    };
    let here = kernels.iter().any(Option::is_some);
    html! {
        h4 { "Mapping (Nakamura et al., Table 4-1)" }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Program" } th scope="col" { "Mapping" }
                @if here { th scope="col" { "computing" } th scope="col" { "waiting" } th scope="col" { "total" } }
                th scope="col" { "published: computing" } th scope="col" { "waiting" } th scope="col" { "total" }
            } }
            tbody { @for (at, (name, paper_name, _)) in APPLICATIONS.iter().enumerate() {
                @for sequential in [false, true] {
                    tr {
                        th scope="row" { (name) @if name != paper_name { " / " (paper_name) } }
                        td { (if sequential { "sequential" } else { "binary tree" }) }
                        @if here { (cells(measured[at].and_then(|both| parts(both, sequential)), false)) }
                        (cells(Some(if sequential { published[at].sequential } else { published[at].binary_tree }), true))
                    }
                }
            } }
        } }
        p.note { "Under FBS, in per cent of the binary tree's total, or of sequential mapping's where the team is so large or the "
            "machine so small that both are the same. Published: " (MACHINE) ", 8 of 16 CPUs; here: the largest team that both "
            "mappings place differently, or else the largest, and the largest problem." }
    }
}

/// The binary tree's parts and those of sequential mapping.
type Both = (Option<Parts>, Option<Parts>);

fn parts(both: Both, sequential: bool) -> Option<Parts> {
    if sequential { both.1 } else { both.0 }
}

fn measured_mappings(kernel: &Kernel) -> Option<Both> {
    let largest = kernel.points.iter().filter_map(|point| point.size).max()?;
    let of = |mapping: &str, threads: u32| {
        let point = kernel.points.iter().find(|point| {
            (point.barrier.as_str(), point.mapping.as_str(), point.size, point.threads)
                == ("fbs", mapping, Some(largest), threads)
        })?;
        let total = median(&point.seconds)?;
        let sync = median(&point.sync_seconds).unwrap_or(0.0).min(total);
        Some(Parts { compute: total - sync, sync, total })
    };
    let mut sizes: Vec<u32> =
        kernel.points.iter().map(|point| point.threads).filter(|&threads| threads > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let differing = sizes.iter().find(|&&n| of("binary-tree", n).is_some() && of("sequential", n).is_some());
    let threads = *differing.or(sizes.first())?;
    let (tree, sequential) = (of("binary-tree", threads), of("sequential", threads));
    let whole = tree.or(sequential)?.total;
    let percent = |parts: Parts| Parts {
        compute: 100.0 * parts.compute / whole,
        sync: 100.0 * parts.sync / whole,
        total: 100.0 * parts.total / whole,
    };
    Some((tree.map(percent), sequential.map(percent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(mapping: &str, threads: u32, seconds: f64, sync: f64) -> KernelPoint {
        KernelPoint {
            size: Some(64),
            threads,
            barrier: "fbs".into(),
            mapping: mapping.into(),
            seconds: Some(Estimate::exact(seconds)),
            sync_seconds: Some(Estimate::exact(sync)),
            ..KernelPoint::default()
        }
    }

    #[test]
    fn the_mapping_table_is_of_the_largest_team_that_mappings_differ_for() {
        let points = vec![
            point("sequential", 16, 9.0, 1.0),
            point("sequential", 8, 6.0, 0.5),
            point("binary-tree", 8, 5.0, 1.0),
        ];
        let (tree, sequential) = measured_mappings(&Kernel { points, ..Kernel::default() }).unwrap();
        assert_eq!(tree, Some(Parts { compute: 80.0, sync: 20.0, total: 100.0 }));
        assert_eq!(sequential, Some(Parts { compute: 110.0, sync: 10.0, total: 120.0 }));
        let alone = Kernel { points: vec![point("sequential", 2, 4.0, 1.0)], ..Kernel::default() };
        let (tree, sequential) = measured_mappings(&alone).unwrap();
        assert_eq!((tree, sequential.unwrap().compute), (None, 75.0));
    }

    #[test]
    fn the_papers_table_is_printed_as_it_stands() {
        let page = mapping_table(&[None, None]).into_string();
        for figure in ["84.1", "121.0", "3.9", "110.5"] {
            assert!(page.contains(figure), "{figure}");
        }
    }
}
