//! What coherence costs a program: cycles per instruction by the rate of coherence events, for classes of several profiles.

use std::collections::BTreeSet;

use coho_model::cpi::{self, Prediction, SourceLine};
use coho_profile::PairMethod;

use crate::sections::prelude::*;

/// What free-running increments are as events.
pub(in crate::sections) const FREE_RUNNING: &str = "By free-running increments, many of which may happen in \
    one ownership: they do not give the price of a transfer. With `coho predict cpi --method turn`, each \
    event is a change of ownership.";

/// A line for each class of each source, at these rates, and why other sources have none.
pub fn parts(prediction: &Prediction, rates: &[f64]) -> Vec<Part> {
    let Prediction { lines, not_available, .. } = prediction;
    let mut parts = Vec::new();
    parts.summary(table(lines, prediction.base_cpi, rates));
    let methods: BTreeSet<PairMethod> = lines.iter().map(|line| line.method).collect();
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

fn table<'a>(lines: &'a [SourceLine], base_cpi: f64, rates: &[f64]) -> TableOf<&'a SourceLine> {
    let title =
        format!("Cycles per instruction by coherence events per 100 instructions, {base_cpi} without");
    Table::of("cpi", title, lines)
        .text("source", |line| line.source.as_str())
        .text("class", |line| line.class.as_str())
        .text("method", |line| line.method.name())
        .figures("cycles", "", |line| Format::Printed.of(line.cycles))
        .columns(rates.iter().map(|rate| Column::figures(format!("{rate}%"), "")), |line| {
            line.points.iter().map(|point| Format::Printed.of(point.cpi))
        })
}

/// The same as a chart.
pub fn chart(lines: &[SourceLine]) -> Chart {
    let series = lines.iter().map(|line| {
        let name = format!("{}: {}, {:.1} cycles", line.source, line.class, line.cycles);
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
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing;

    #[test]
    fn free_running_increments_come_with_their_caveat() {
        let told = |method| {
            let line = SourceLine {
                class: "on-die".into(),
                cycles: 20.0,
                points: Vec::new(),
                source: "mine".into(),
                method,
            };
            let prediction = Prediction { base_cpi: 2.0, lines: vec![line], not_available: BTreeMap::new() };
            let mut section = Section::new("cpi", "CPI", "");
            section.parts = parts(&prediction, &[]);
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
