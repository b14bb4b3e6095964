//! What coherence costs a program: cycles per instruction by the rate of coherence events, for classes of several profiles.

use std::collections::{BTreeMap, BTreeSet};

use coho_model::cpi::{self, Line};
use coho_profile::PairMethod;

use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::{Figure, Format};
use crate::part::{Column, Part, PartList, Row, Table, Text};
use crate::words;

/// A line for each class of each source, at these rates, and why other sources have none.
pub fn parts(
    lines: &[(String, Line)],
    base_cpi: f64,
    rates: &[f64],
    not_available: &BTreeMap<String, String>,
) -> Vec<Part> {
    let mut parts = Vec::new();
    if !lines.is_empty() {
        parts.summary(table(lines, base_cpi, rates));
    }
    let methods: BTreeSet<PairMethod> = lines.iter().map(|(_, line)| line.method).collect();
    if methods.len() > 1 {
        let caveat =
            "The methods differ: a turn is one transfer, a free-running increment often less than one.";
        parts.summary(Text::new(caveat));
    }
    for (source, reason) in not_available.iter().filter(|_| !lines.is_empty()) {
        parts.summary(Text::new(format!("{source}: not available: {reason}")));
    }
    parts
}

fn table(lines: &[(String, Line)], base_cpi: f64, rates: &[f64]) -> Table {
    let printed = |value: f64| Figure::exact(value).format(Format::Printed);
    let row = |(source, line): &(String, Line)| {
        let names =
            [source.as_str().into(), line.class.as_str().into(), words::pair_method(line.method).into()];
        let cpis = line.points.iter().map(|point| printed(point.cpi).into());
        Row::new(names.into_iter().chain([printed(line.cycles).into()]).chain(cpis))
    };
    let title =
        format!("Cycles per instruction by coherence events per 100 instructions, {base_cpi} without");
    Table::new("cpi", title)
        .columns(["source", "class", "method"].map(Column::text))
        .columns([Column::figures("cycles", "")])
        .columns(rates.iter().map(|rate| Column::figures(format!("{rate}%"), "")))
        .rows(lines.iter().map(row))
}

/// The same as a chart.
pub fn chart(lines: &[(String, Line)]) -> Chart {
    let series = |(source, line): &(String, Line)| {
        let name = format!("{source}: {}, {:.1} cycles", line.class, line.cycles);
        Series {
            colour: Colour::of_class(&line.class.to_ascii_lowercase()),
            stroke: Stroke::Solid,
            points: points(&line.points, &name),
            name,
        }
    };
    Chart::new(
        "cpi",
        "Cycles per instruction under coherence events",
        Axis::linear("coherence events per 100 instructions"),
        Axis::linear("cycles per instruction"),
        Plot::Lines(lines.iter().map(series).collect()),
    )
}

/// The points of a class's line, which say its name when pointed at.
pub(in crate::sections) fn points(points: &[cpi::Point], name: &str) -> Vec<Point> {
    let point = |point: &cpi::Point| Point {
        x: point.rate_percent,
        y: point.cpi,
        interval: None,
        hover: format!("{name}: {} at {} %", words::printed(point.cpi), point.rate_percent),
    };
    points.iter().map(point).collect()
}
