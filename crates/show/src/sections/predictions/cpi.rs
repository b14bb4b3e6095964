//! What coherence costs a program: cycles per instruction by the rate of coherence events, for classes of several profiles.

use std::collections::{BTreeMap, BTreeSet};

use coho_model::cpi::{self, Line};
use coho_profile::PairMethod;

use crate::sections::prelude::*;

/// What free-running increments are as events.
pub(in crate::sections) const FREE_RUNNING: &str = "By free-running increments, many of which may happen in \
    one ownership: they do not give the price of a transfer. With `coho predict cpi --method turn`, each \
    event is a change of ownership.";

/// A line for each class of each source, at these rates, and why other sources have none.
pub fn parts(
    lines: &[(String, Line)],
    base_cpi: f64,
    rates: &[f64],
    not_available: &BTreeMap<String, String>,
) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(table(lines, base_cpi, rates));
    let methods: BTreeSet<PairMethod> = lines.iter().map(|(_, line)| line.method).collect();
    if methods.len() > 1 {
        let caveat =
            "The methods differ: a turn is one transfer, a free-running increment often less than one.";
        parts.summary(Text::new(caveat));
    }
    parts.summary(methods.contains(&PairMethod::FreeRunning).then(|| Text::new(FREE_RUNNING)));
    let not_available = not_available.iter().filter(|_| !lines.is_empty());
    parts.summary(not_available.map(|(source, why)| Text::new(format!("{source}: not available: {why}"))));
    parts
}

fn table<'a>(lines: &'a [(String, Line)], base_cpi: f64, rates: &[f64]) -> TableOf<&'a (String, Line)> {
    let title =
        format!("Cycles per instruction by coherence events per 100 instructions, {base_cpi} without");
    Table::of("cpi", title, lines)
        .text("source", |(source, _)| source.as_str())
        .text("class", |(_, line)| line.class.as_str())
        .text("method", |(_, line)| line.method.name())
        .figures("cycles", "", |(_, line)| Format::Printed.of(line.cycles))
        .columns(rates.iter().map(|rate| Column::figures(format!("{rate}%"), "")), |(_, line)| {
            line.points.iter().map(|point| Format::Printed.of(point.cpi))
        })
}

/// The same as a chart.
pub fn chart(lines: &[(String, Line)]) -> Chart {
    let series = lines.iter().map(|(source, line)| {
        let name = format!("{source}: {}, {:.1} cycles", line.class, line.cycles);
        series(name, &line.class.to_ascii_lowercase(), Stroke::Solid, &line.points)
    });
    let axes =
        [Axis::linear("coherence events per 100 instructions"), Axis::linear("cycles per instruction")];
    Chart::lines("cpi", "Cycles per instruction under coherence events", axes, series.collect())
}

/// A class's line, whose points say its name when pointed at.
pub(in crate::sections) fn series(
    name: String,
    class: &str,
    stroke: Stroke,
    points: &[cpi::Point],
) -> Series {
    let point = |point: &cpi::Point| {
        let hover = format!("{name}: {} at {} %", words::printed(point.cpi), point.rate_percent);
        Point::exact(point.rate_percent, point.cpi, hover)
    };
    let points: Vec<Point> = points.iter().map(point).collect();
    Series::new(name, Colour::of_class(class), stroke).points(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn free_running_increments_come_with_their_caveat() {
        let told = |method| {
            let line = Line { class: "on-die".into(), cycles: 20.0, method, points: Vec::new() };
            let mut section = Section::new("cpi", "CPI", "");
            section.parts = parts(&[("mine".into(), line)], 2.0, &[], &BTreeMap::new());
            testing::text(&section, Depth::Summary).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let free = told(PairMethod::FreeRunning);
        assert!(
            free.contains("many of which may happen in one ownership") && free.contains("--method turn"),
            "{free}"
        );
        assert!(!told(PairMethod::Turn).contains("free-running"));
    }
}
