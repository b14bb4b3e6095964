//! A loop's rate and time by its length, and how long an application waits.

use coho_profile::{Estimate, Kernel, KernelPoint, fitted};

use super::{median, team};
use crate::Subject;
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot, Point, Series, Stroke};
use crate::{scale, words};

/// A profile may bring any number of teams and lengths.
const MOST_TEAMS: usize = 24;
const MOST_LENGTHS: usize = 64;

/// A loop's rate by its length, for one thread and the teams of the two largest sizes.
pub(super) fn rates(subject: &Subject, kernel: &Kernel) -> Option<Chart> {
    let lines = teams(kernel).into_iter().filter_map(|first| {
        let name = team(first);
        let point = |point: &KernelPoint| {
            let figure = subject.figure(point.gflops.as_ref().filter(|rate| scale::is_time(rate.median))?);
            let hover = format!("{name}, length {}: {} GFLOP/s", point.length?, figure.text());
            Some(Point { x: point.length? as f64, y: figure.value, interval: figure.interval(), hover })
        };
        let points = of_team(kernel, first).filter_map(point).take(MOST_LENGTHS).collect();
        let stroke = match first.mapping.as_str() {
            _ if subject.published => Stroke::Published,
            "binary-tree" => Stroke::Dashed,
            _ => Stroke::Solid,
        };
        series(name.clone(), colour(kernel, first)?, stroke, points)
    });
    let lines: Vec<Series> = lines.collect();
    let (x, y) = (Axis::log("loop length, elements"), Axis::log("10⁹ floating-point operations a second"));
    (!lines.is_empty()).then(|| {
        Chart::new("daxpy", "Rate of a loop by its length", x, y, Plot::Lines(lines)).caption(
            "A(i) = B(i) + s C(i), each loop a parallel region (Nakamura et al.): short loops are dominated by fork \
             and join, long ones exceed the caches. Dashed: binary-tree mapping.",
        )
    })
}

/// Points as measured and lines by the fitted model, of one thread and the largest team.
pub(super) fn model(subject: &Subject, kernel: &Kernel) -> Option<Chart> {
    let longest = kernel.fitted.get(fitted::LONGEST).copied().unwrap_or(0.0);
    let largest = kernel.points.iter().map(|point| point.threads).max();
    let mut lines = Vec::new();
    for first in teams(kernel) {
        let Some(colour) =
            colour(kernel, first).filter(|_| first.threads == 1 || Some(first.threads) == largest)
        else {
            continue;
        };
        let name = team(first);
        let (mut measured, mut by_model) = (Vec::new(), Vec::new());
        for point in of_team(kernel, first).take(MOST_LENGTHS) {
            let Some(length) = point.length.filter(|length| *length as f64 <= longest) else { continue };
            let hover = |what: &str, ns: &str| format!("{name}, length {length}, {what}: {ns} ns");
            if let Some(seconds) = point.seconds.as_ref().filter(|time| scale::is_time(time.median)) {
                let figure = subject.figure(seconds).scaled(1e9);
                let (y, interval) = (figure.value, figure.interval());
                measured.push(Point {
                    x: length as f64,
                    y,
                    interval,
                    hover: hover("measured", &figure.text()),
                });
            }
            let seconds =
                fitted::seconds(&kernel.fitted, length, point.threads, &point.barrier, &point.mapping);
            if let Some(y) = seconds.map(|seconds| 1e9 * seconds).filter(|ns| scale::is_time(*ns)) {
                let hover = hover("model", &words::number(y));
                by_model.push(Point { x: length as f64, y, interval: None, hover });
            }
        }
        if !measured.is_empty() && !by_model.is_empty() {
            lines.extend(series(format!("{name}: measured"), colour, Stroke::Points, measured));
            lines.extend(series(format!("{name}: model"), colour, Stroke::Solid, by_model));
        }
    }
    let (x, y) = (Axis::log("loop length, elements"), Axis::log("time of a loop, ns"));
    (!lines.is_empty()).then(|| {
        let title = "Time of a loop, measured and by the model";
        Chart::new("daxpy-model", title, x, y, Plot::Lines(lines)).caption(format!(
            "Lines: T = S + P length / n + T_F + T_B (Nakamura et al.), fitted to the points up to {} elements; \
             beyond that, data come from farther away.",
            words::number(longest)
        ))
    })
}

/// How long the largest problem takes and how long it waits, for each team.
pub(super) fn waiting(subject: &Subject, name: &str, kernel: &Kernel) -> Option<Chart> {
    let largest = kernel.points.iter().filter_map(|point| point.size).max()?;
    let points: Vec<&KernelPoint> = teams(kernel)
        .into_iter()
        .filter_map(|first| of_team(kernel, first).find(|point| point.size == Some(largest)))
        .filter(|point| median(&point.seconds).is_some())
        .collect();
    if points.is_empty() {
        return None;
    }
    let series = |what: &str, index, of: fn(&KernelPoint) -> &Option<Estimate>| BarSeries {
        name: what.to_owned(),
        colour: Colour::nth(index),
        published: subject.published,
        bars: points
            .iter()
            .map(|point| {
                let figure = subject.figure(of(point).as_ref()?).scaled(1e3);
                let hover = format!("{}: {what} {} ms", team(point), figure.text());
                Some(Bar { value: figure.value, interval: figure.interval(), hover })
            })
            .collect(),
    };
    let series = vec![
        series("whole run", 0, |point| &point.seconds),
        series("of it waiting", 1, |point| &point.sync_seconds),
    ];
    let categories = points.iter().map(|point| team(point)).collect();
    let (x, y) = (Axis::linear("time of a run, ms"), Axis::linear(""));
    let name = words::short(name, 40);
    let what = match name.as_str() {
        "galerkin" => "Natural convection by a spectral Galerkin method, untuned: many short parallel loops.",
        "weather" => "A shallow-water model, tuned: one parallel region.",
        _ => "",
    };
    let title = format!("{name}: time of a run, and waiting");
    let chart = Chart::new(name, title, x, y, Plot::Bars { categories, series });
    Some(chart.caption(format!(
        "{what} The largest problem, {largest} unknowns or cells; waiting: the mean over the threads."
    )))
}

fn series(name: String, colour: Colour, stroke: Stroke, points: Vec<Point>) -> Option<Series> {
    (!points.is_empty()).then_some(Series { name, colour, stroke, points })
}

fn of_team<'a>(kernel: &'a Kernel, first: &KernelPoint) -> impl Iterator<Item = &'a KernelPoint> {
    let name = team(first);
    kernel.points.iter().filter(move |point| team(point) == name)
}

/// The teams of a kernel in the order in which they are first met, one thread first.
fn teams(kernel: &Kernel) -> Vec<&KernelPoint> {
    let mut teams: Vec<&KernelPoint> = Vec::new();
    for point in kernel.points.iter().take(4000) {
        if teams.len() < MOST_TEAMS && !teams.iter().any(|other| team(other) == team(point)) {
            teams.push(point);
        }
    }
    teams.sort_by_key(|point| (point.threads, point.mapping.clone()));
    teams
}

/// One thread is what teams are compared with; barriers have the colours that they have as barriers, those of smaller teams
/// others. Teams of third and smaller sizes are in the table only.
fn colour(kernel: &Kernel, point: &KernelPoint) -> Option<Colour> {
    let mut sizes: Vec<u32> = kernel.points.iter().map(|point| point.threads).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let rank = sizes.iter().position(|size| *size == point.threads)?;
    Some(match (point.threads, point.barrier.as_str(), rank) {
        (1, ..) => Colour::GREY,
        (_, "fbs", 0) => Colour::nth(0),
        (_, "lock", 0) => Colour::nth(4),
        (_, "fbs", 1) => Colour::nth(5),
        (_, "lock", 1) => Colour::nth(1),
        _ => return None,
    })
}
