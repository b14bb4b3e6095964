//! Times by algorithm and team: bars for a few teams, lines for many.

use coho_profile::{Estimate, Sync};

use super::{LIMIT, shown, table, team};
use crate::sections::prelude::*;

/// With more numbers of threads than this, lines are drawn instead of bars.
const FEW_SIZES: usize = 3;
/// Bars in a group at most; of more teams, those of sequential mapping are drawn.
const MOST_TEAMS: usize = 3;
/// A profile may bring any number of rows.
pub(super) const MOST: usize = 400;

/// One time, and who took it.
pub(crate) struct Timed<'a> {
    /// The algorithm, with its layout.
    pub name: String,
    pub threads: u32,
    pub mapping: &'a str,
    pub ns: &'a Estimate,
}

impl Timed<'_> {
    pub(crate) fn bar(&self, published: bool) -> Bar {
        let source = if published { "published: " } else { "" };
        let team = team(self.threads, self.mapping);
        Bar::new(self.ns, |ns| format!("{source}{}, {team}: {ns} ns", self.name))
    }
}

/// The colour that an algorithm has in every chart; `None` for those that charts of many algorithms leave to the tables.
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

/// How the line of a team by this mapping is drawn.
pub(crate) fn stroke(mapping: &str, published: bool) -> Stroke {
    match mapping {
        _ if published => Stroke::Published,
        "binary-tree" => Stroke::Dashed,
        _ => Stroke::Solid,
    }
}

/// One barrier, by algorithm and team.
pub(super) fn barriers(subject: &Subject, sync: &Sync) -> Option<Chart> {
    let timed = sync.barriers.iter().filter_map(|row| {
        let name = words::barrier(&row.algorithm, &row.layout);
        Some(Timed { name, threads: row.threads, mapping: &row.mapping, ns: shown(&row.ns)? })
    });
    let rows: Vec<Timed<'_>> = timed.take(MOST).collect();
    let title = "Barriers by algorithm and number of threads";
    let mut chart = chart("barriers", title, &rows, "time of a barrier, ns", subject.published)?;
    let limits = table::limits(sync);
    if let Plot::Lines(series) = &mut chart.plot {
        let stroke = if limits.len() > 1 { Stroke::Solid } else { Stroke::Points };
        let points = limits.iter().map(|(&threads, &ns)| {
            let hover = format!("limit, {threads} threads: {} ns", words::number(ns));
            Point::exact(f64::from(threads), ns, hover)
        });
        if !limits.is_empty() {
            series.push(Series::new("limit", Colour::GREY, stroke).points(points));
        }
        return Some(chart.caption(format!(
            "Grey: the latency limit of each team, measured in the same passes; {LIMIT}. Solid: sequential mapping; \
             dashed: binary tree. The table also has the other algorithms."
        )));
    }
    // One line: those of several teams would lie over each other.
    let mark = limits.last_key_value().map(|(threads, ns)| {
        let label = if limits.len() > 1 { format!("limit, {threads} threads") } else { "limit".into() };
        Mark::new(At::X(*ns), label, Colour::GREY)
    });
    Some(chart.marks(mark).caption(format!(
        "Grey: the latency limit of the largest team, measured in the same passes; {LIMIT}."
    )))
}

/// Bars where there are few numbers of threads, lines otherwise; `None` without a time.
pub(super) fn chart(id: &str, title: &str, rows: &[Timed<'_>], what: &str, published: bool) -> Option<Chart> {
    match distinct(rows.iter().map(|row| row.threads)).len() {
        0 => None,
        1..=FEW_SIZES => {
            let (categories, series) = bars(rows, published);
            Some(Chart::bars(id, title, Axis::linear(what), categories, series))
        }
        _ => {
            Some(Chart::lines(id, title, [Axis::counts("threads"), Axis::log(what)], lines(rows, published)))
        }
    }
}

/// A group for each algorithm, a bar for each team.
fn bars(rows: &[Timed<'_>], published: bool) -> (Vec<String>, Vec<BarSeries>) {
    let categories = distinct(rows.iter().map(|row| row.name.clone()));
    let mut teams = distinct(rows.iter().map(|row| (row.threads, row.mapping)));
    if teams.len() > MOST_TEAMS {
        teams.retain(|(_, mapping)| *mapping == "sequential");
    }
    let series = teams.into_iter().take(MOST_TEAMS).enumerate().map(|(index, (threads, mapping))| {
        let bars = categories.iter().map(|name| {
            let is = |row: &&Timed<'_>| (&row.name, row.threads, row.mapping) == (name, threads, mapping);
            Some(rows.iter().find(is)?.bar(published))
        });
        BarSeries::new(team(threads, mapping), Colour::nth(index), bars).published(published)
    });
    let series = series.collect();
    (categories, series)
}

/// A line for each algorithm that has a colour, and mapping.
fn lines(rows: &[Timed<'_>], published: bool) -> Vec<Series> {
    let points = rows.iter().filter(|row| row.threads > 0).filter_map(|row| {
        let Bar { value, interval, hover } = row.bar(published);
        let name = words::joined([row.name.as_str(), row.mapping], ", ");
        let line = Series::new(name, colour(&row.name)?, stroke(row.mapping, published));
        Some((line, Point { x: f64::from(row.threads), y: value, interval, hover }))
    });
    let mut lines = Series::by_name(points);
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    lines
}
