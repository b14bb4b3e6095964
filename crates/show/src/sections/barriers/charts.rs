//! Times by algorithm and team: bars for a few teams, lines for many.

use std::collections::BTreeMap;

use coho_profile::{Estimate, Sync};

use super::{LIMIT, name, shown, table, team};
use crate::Subject;
use crate::chart::{At, Axis, Bar, BarSeries, Chart, Colour, Mark, Plot, Point, Series, Stroke};
use crate::words;

/// Up to so many numbers of threads are drawn as bars.
const FEW_SIZES: usize = 3;
/// In a group of bars are so many at most; of more teams, those of sequential mapping are drawn.
const MOST_TEAMS: usize = 3;
/// A profile may bring any number of rows.
const MOST: usize = 400;

/// One time, and who took it.
pub(crate) struct Timed<'a> {
    /// The algorithm, with its layout.
    pub name: String,
    pub threads: u32,
    pub mapping: &'a str,
    pub ns: &'a Estimate,
}

/// The colour that an algorithm has in every chart; `None` for those that only tables show beside so many others.
fn colour(algorithm: &str) -> Option<Colour> {
    let index = match algorithm {
        "fbs" | "fbs, separate-lines" => 0,
        "fbs-one-line" | "fbs, one-line" => 1,
        "grid" => 2,
        "dissemination-2" => 3,
        "lock" => 4,
        "team" => 5,
        _ => return None,
    };
    Some(Colour::nth(index))
}

/// One barrier, by algorithm and team.
pub(super) fn barriers(subject: &Subject, sync: &Sync) -> Option<Chart> {
    let rows: Vec<Timed<'_>> = sync
        .barriers
        .iter()
        .filter_map(|row| {
            let name = name(&row.algorithm, &row.layout);
            Some(Timed { name, threads: row.threads, mapping: &row.mapping, ns: shown(&row.ns)? })
        })
        .take(MOST)
        .collect();
    let limits = table::limits(sync);
    let (axes, plot) = plot(&rows, "time of a barrier, ns", subject.published)?;
    let chart =
        |x, y, plot| Chart::new("barriers", "Barriers by algorithm and number of threads", x, y, plot);
    let chart = match plot {
        Plot::Lines(mut series) => {
            let point = |(&threads, &ns): (&u32, &f64)| Point {
                x: f64::from(threads),
                y: ns,
                interval: None,
                hover: format!("limit, {threads} threads: {} ns", words::number(ns)),
            };
            let stroke = if limits.len() > 1 { Stroke::Solid } else { Stroke::Points };
            let points: Vec<Point> = limits.iter().map(point).collect();
            if !points.is_empty() {
                series.push(Series { name: "limit".into(), colour: Colour::GREY, stroke, points });
            }
            let more =
                "Solid: sequential mapping; dashed: binary tree. The table also has the other algorithms.";
            let measured = "Grey: the latency limit of each team, measured in the same passes";
            chart(axes.0, axes.1, Plot::Lines(series)).caption(format!("{measured}; {LIMIT}. {more}"))
        }
        plot => {
            // One line: those of several teams would lie over each other.
            let mark = limits.last_key_value().map(|(threads, ns)| Mark {
                at: At::X(*ns),
                label: if limits.len() > 1 { format!("limit, {threads} threads") } else { "limit".into() },
                colour: Colour::GREY,
                published: false,
            });
            chart(axes.0, axes.1, plot).marks(mark).caption(format!(
                "Grey: the latency limit of the largest team, measured in the same passes; {LIMIT}."
            ))
        }
    };
    Some(chart)
}

/// Axes and what is drawn over them: bars where there are few numbers of threads, lines otherwise; `None` without a time.
pub(super) fn plot(rows: &[Timed<'_>], what: &str, published: bool) -> Option<((Axis, Axis), Plot)> {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.threads).collect();
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.len() {
        0 => None,
        1..=FEW_SIZES => Some(((Axis::linear(what), Axis::linear("")), bars(rows, published))),
        _ => Some(((Axis::counts("threads"), Axis::log(what)), Plot::Lines(lines(rows, published)))),
    }
}

/// A group for each algorithm, a bar for each team.
fn bars(rows: &[Timed<'_>], published: bool) -> Plot {
    let mut categories: Vec<String> = Vec::new();
    let mut teams: Vec<(u32, &str)> = Vec::new();
    for row in rows {
        if !categories.contains(&row.name) {
            categories.push(row.name.clone());
        }
        let team = (row.threads, row.mapping);
        if !teams.contains(&team) {
            teams.push(team);
        }
    }
    if teams.len() > MOST_TEAMS {
        teams.retain(|(_, mapping)| *mapping == "sequential");
    }
    teams.truncate(MOST_TEAMS);
    let series = teams.iter().enumerate().map(|(index, &(threads, mapping))| BarSeries {
        name: team(threads, mapping),
        colour: Colour::nth(index),
        published,
        bars: categories
            .iter()
            .map(|name| {
                let mine =
                    |row: &&Timed<'_>| (&row.name, row.threads, row.mapping) == (name, threads, mapping);
                rows.iter().find(mine).map(|row| bar(row, published))
            })
            .collect(),
    });
    Plot::Bars { series: series.collect(), categories }
}

/// The bar of a time.
pub(crate) fn bar(row: &Timed<'_>, published: bool) -> Bar {
    let interval = row.ns.has_interval().then_some((row.ns.low, row.ns.high));
    Bar { value: row.ns.median, interval, hover: hover(row, published) }
}

fn hover(row: &Timed<'_>, published: bool) -> String {
    let source = if published { "published: " } else { "" };
    let figure = crate::figure::Figure::from(row.ns).text();
    format!("{source}{}, {}: {figure} ns", row.name, team(row.threads, row.mapping))
}

/// A line for each algorithm that has a colour, and mapping.
fn lines(rows: &[Timed<'_>], published: bool) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let mut at = BTreeMap::new();
    for row in rows.iter().filter(|row| row.threads > 0) {
        let Some(colour) = colour(&row.name) else { continue };
        let index = *at.entry((row.name.clone(), row.mapping)).or_insert_with(|| {
            let words = [row.name.as_str(), row.mapping].into_iter().filter(|word| !word.is_empty());
            let stroke = match row.mapping {
                _ if published => Stroke::Published,
                "binary-tree" => Stroke::Dashed,
                _ => Stroke::Solid,
            };
            let name = words.collect::<Vec<_>>().join(", ");
            series.push(Series { name, colour, stroke, points: Vec::new() });
            series.len() - 1
        });
        let Bar { value: y, interval, hover } = bar(row, published);
        series[index].points.push(Point { x: f64::from(row.threads), y, interval, hover });
    }
    series.iter_mut().for_each(|one| one.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    series
}
