//! The clock of CPUs over a run, and the temperature.

use std::collections::BTreeMap;

use coho_profile::{ClockPoint, TemperaturePoint};
use plotly::common::{AxisSide, HoverInfo, Marker, Mode};
use plotly::layout::Axis;
use plotly::{Plot, Scatter};

use super::{Chart, layout};
use crate::report::classes;

/// Points of a chart, at most, of all CPUs together: a point in so many is drawn beyond.
const MOST: usize = 4000;
/// CPUs with a line of their own; a chart of more could not be read.
const CPUS: usize = 16;

/// A point for each look at a CPU's clock; `None` without any.
pub fn clock(id: String, points: &[ClockPoint], temperature: &[TemperaturePoint]) -> Option<Chart> {
    let every = points.len().div_ceil(MOST).max(1);
    let mut by_cpu: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for point in points.iter().step_by(every) {
        if point.at_s.is_finite() && point.ghz.is_finite() && (0.0..100.0).contains(&point.ghz) {
            by_cpu.entry(point.cpu).or_default().push((point.at_s, point.ghz));
        }
    }
    if by_cpu.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    for (index, (cpu, points)) in by_cpu.iter().take(CPUS).enumerate() {
        let hover = points.iter().map(|(at, ghz)| format!("CPU {cpu}: {ghz:.3} GHz at {at:.1} s"));
        let trace = Scatter::new(
            points.iter().map(|point| point.0).collect(),
            points.iter().map(|point| point.1).collect(),
        )
        .name(format!("CPU {cpu}"))
        .mode(Mode::Markers)
        .marker(Marker::new().size(4).color(classes::colour_at(index)))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let hot: Vec<_> = temperature
        .iter()
        .step_by(temperature.len().div_ceil(MOST).max(1))
        .filter(|point| point.at_s.is_finite() && point.celsius.is_finite())
        .collect();
    let mut arranged = layout(
        Axis::new().title("time from the start, s"),
        Axis::new().title("GHz").range_mode(plotly::layout::RangeMode::Normal),
    )
    .show_legend(true);
    if !hot.is_empty() {
        let trace = Scatter::new(
            hot.iter().map(|point| point.at_s).collect(),
            hot.iter().map(|point| point.celsius).collect(),
        )
        .name("temperature")
        .mode(Mode::Lines)
        .y_axis("y2")
        .hover_template("%{y:.0f} °C at %{x:.1f} s<extra></extra>");
        plot.add_trace(trace);
        arranged = arranged.y_axis2(Axis::new().title("°C").overlaying("y").side(AxisSide::Right));
    }
    plot.set_layout(arranged);
    Some(Chart::new(id, "Clock of the CPUs over the run", 300, &plot))
}
