//! A loop's rate and time by its length, and how long an application waits.

use std::collections::BTreeSet;

use coho_profile::{Estimate, Kernel, KernelPoint, fitted};

use super::{median, team};
use crate::sections::barriers::{shown, stroke};
use crate::sections::prelude::*;

/// A profile may bring any number of points, teams and lengths.
const MOST_POINTS: usize = 4000;
const MOST_TEAMS: usize = 24;
const MOST_LENGTHS: usize = 64;

/// A loop's rate by its length, for one thread and the teams of the two largest sizes.
pub(super) fn rates(subject: &Subject, kernel: &Kernel) -> Chart {
    let line = |(name, points): (String, Vec<&KernelPoint>)| {
        let point = |point: &KernelPoint| {
            let (figure, length) = (subject.figure(shown(&point.gflops)?), point.length?);
            let hover = |rate: &str| format!("{name}, length {length}: {rate} GFLOP/s");
            Some(Point::new(length as f64, figure, hover))
        };
        let stroke = stroke(&points[0].mapping, subject.published);
        let line = Series::new(&name, colour(kernel, points[0])?, stroke);
        Some(line.points(points.into_iter().filter_map(point).take(MOST_LENGTHS)))
    };
    let lines = teams(kernel).into_iter().filter_map(line).filter(|line| !line.points.is_empty());
    let axes = [Axis::log("loop length, elements"), Axis::log("10⁹ floating-point operations a second")];
    Chart::lines("daxpy", "Rate of a loop by its length", axes, lines.collect()).caption(
        "A(i) = B(i) + s C(i), each loop a parallel region (Nakamura et al.): short loops are dominated by fork \
         and join, long ones exceed the caches. Dashed: binary-tree mapping.",
    )
}

/// Points as measured and lines by the fitted model, of one thread and the largest team.
pub(super) fn model(subject: &Subject, name: &str, kernel: &Kernel) -> Chart {
    let by_constants = |point: &KernelPoint| {
        let at = kernel.points.iter().position(|one| one == point)?;
        *subject.answers.teams.fitted_s.get(name)?.get(at)?
    };
    let longest = kernel.fitted.get(fitted::LONGEST).copied().unwrap_or(0.0);
    let largest = kernel.points.iter().map(|point| point.threads).max();
    let mut lines = Vec::new();
    for (name, points) in teams(kernel) {
        let is_drawn = points[0].threads == 1 || Some(points[0].threads) == largest;
        let Some(colour) = colour(kernel, points[0]).filter(|_| is_drawn) else { continue };
        let points = points.into_iter().take(MOST_LENGTHS);
        let points = points.filter_map(|point| Some((point.length?, point)));
        let points: Vec<(u64, _)> = points.filter(|(length, _)| *length as f64 <= longest).collect();
        let hover = |length: u64, what: &str, ns: &str| format!("{name}, length {length}, {what}: {ns} ns");
        let measured = points.iter().filter_map(|&(length, point)| {
            let figure = subject.figure(shown(&point.seconds)?).scaled(1e9);
            Some(Point::new(length as f64, figure, |ns| hover(length, "measured", ns)))
        });
        let by_model = points.iter().filter_map(|&(length, point)| {
            let seconds = by_constants(point)?;
            let ns = Some(1e9 * seconds).filter(|ns| scale::is_time(*ns))?;
            Some(Point::exact(length as f64, ns, hover(length, "model", &words::number(ns))))
        });
        let both = [
            Series::new(format!("{name}: measured"), colour, Stroke::Points).points(measured),
            Series::new(format!("{name}: model"), colour, Stroke::Solid).points(by_model),
        ];
        if both.iter().all(|series| !series.points.is_empty()) {
            lines.extend(both);
        }
    }
    let axes = [Axis::log("loop length, elements"), Axis::log("time of a loop, ns")];
    Chart::lines("daxpy-model", "Time of a loop, measured and by the model", axes, lines).caption(format!(
        "Lines: T = S + P length / n + T_F + T_B (Nakamura et al.), fitted to the points up to {} elements; \
         beyond that, data come from farther away.",
        words::number(longest)
    ))
}

/// How long the largest problem takes and how long it waits, for each team.
pub(super) fn waiting(subject: &Subject, name: &str, kernel: &Kernel) -> Option<Chart> {
    let largest = kernel.points.iter().filter_map(|point| point.size).max()?;
    let teams = teams(kernel).into_iter();
    let points = teams.filter_map(|(_, all)| all.into_iter().find(|point| point.size == Some(largest)));
    let points: Vec<&KernelPoint> = points.filter(|point| median(&point.seconds).is_some()).collect();
    let series = |what: &str, index, of: fn(&KernelPoint) -> &Option<Estimate>| {
        let bars = points.iter().map(|point| {
            Some(Bar::new(subject.scaled(of(point), 1e3)?, |ms| format!("{}: {what} {ms} ms", team(point))))
        });
        BarSeries::new(what, Colour::nth(index), bars).published(subject.published)
    };
    let series = vec![
        series("whole run", 0, |point| &point.seconds),
        series("of it waiting", 1, |point| &point.sync_seconds),
    ];
    let categories = points.iter().map(|point| team(point)).collect();
    let name = words::short(name, 40);
    let what = match name.as_str() {
        "galerkin" => "Natural convection by a spectral Galerkin method, untuned: many short parallel loops.",
        "weather" => "A shallow-water model, tuned: one parallel region.",
        _ => "",
    };
    let title = format!("{name}: time of a run, and waiting");
    let chart = Chart::bars(name, title, Axis::linear("time of a run, ms"), categories, series);
    Some(chart.caption(format!(
        "{what} The largest problem, {largest} unknowns or cells; waiting: the mean over the threads."
    )))
}

/// The teams with their points: one thread first, then by size.
fn teams(kernel: &Kernel) -> Vec<(String, Vec<&KernelPoint>)> {
    let team_of = |name: String| {
        let points = kernel.points.iter().filter(|point| team(point) == name).collect();
        (name, points)
    };
    let names = distinct(kernel.points.iter().take(MOST_POINTS).map(team));
    let mut teams: Vec<(_, Vec<&KernelPoint>)> = names.into_iter().take(MOST_TEAMS).map(team_of).collect();
    teams.sort_by_key(|(_, points)| (points[0].threads, &points[0].mapping));
    teams
}

/// Barriers of the largest teams have the colours that they have as barriers, those of the next smaller ones others; one
/// thread, which teams are compared with, is grey. Still smaller teams are in the table only.
fn colour(kernel: &Kernel, point: &KernelPoint) -> Option<Colour> {
    let sizes: BTreeSet<u32> = kernel.points.iter().map(|point| point.threads).collect();
    let rank = sizes.iter().rev().position(|size| *size == point.threads)?;
    Some(match (point.threads, point.barrier.as_str(), rank) {
        (1, ..) => Colour::GREY,
        (_, "fbs", 0) => Colour::nth(0),
        (_, "lock", 0) => Colour::nth(4),
        (_, "fbs", 1) => Colour::nth(5),
        (_, "lock", 1) => Colour::nth(1),
        _ => return None,
    })
}
