//! Charts of calls: cold and warm times, and the calibration of the timing method.

use coho_profile::{CacheState, Calibration};
use plotly::common::{ErrorData, ErrorType, HoverInfo, Line, Marker, Mode};
use plotly::layout::{Axis, AxisType, BarMode};
use plotly::{Bar, Plot, Scatter};

use super::{Chart, layout, literal};
use crate::report::calls::Bars;
use crate::report::delegation::Curve;
use crate::report::{classes, events, text};

/// Cold and warm times of a set's calls, with the paper's in grey.
pub fn calls(id: String, title: &str, bars: &Bars) -> Chart {
    let mut plot = Plot::new();
    for series in &bars.series {
        let (colour, whose) = match (series.state, series.published) {
            (CacheState::Cold, false) => (classes::colour_at(0), "here"),
            (CacheState::Second, false) => (classes::colour_at(1), "here"),
            (CacheState::Warm, false) => (classes::colour_at(2), "here"),
            (CacheState::Cold, true) => ("#8c8c8c", "published"),
            (CacheState::Second | CacheState::Warm, true) => ("#c4c4c4", "published"),
        };
        let state = events::state(series.state);
        let there = || bars.names.iter().zip(&series.ns).filter_map(|(name, ns)| Some((name, (*ns)?)));
        let hover =
            there().map(|(name, ns)| format!("{}, {state}, {whose}: {} ns", literal(name), text::number(ns)));
        let names: Vec<String> = there().map(|(name, _)| literal(name)).collect();
        let trace = Bar::new(names, there().map(|(_, ns)| ns).collect())
            .name(format!("{state}, {whose}"))
            .marker(Marker::new().color(colour))
            .hover_text_array(hover.collect())
            .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let y = Axis::new().title("ns (logarithmic)").type_(AxisType::Log).dtick(1.0);
    plot.set_layout(layout(Axis::new(), y).bar_mode(BarMode::Group).show_legend(true));
    Chart::new(id, &format!("{title}: time by the state of the caches"), 340, &plot)
}

/// Lines evicted against lines that a victim of known size used.
pub fn calibration(id: String, points: &[Calibration]) -> Chart {
    let told: Vec<_> =
        points.iter().filter_map(|point| Some((point.lines, point.evicted.as_ref()?))).collect();
    let above = told.iter().map(|(_, evicted)| (evicted.high - evicted.median).max(0.0)).collect();
    let below = told.iter().map(|(_, evicted)| (evicted.median - evicted.low).max(0.0)).collect();
    let trace = Scatter::new(
        told.iter().map(|(lines, _)| *lines).collect(),
        told.iter().map(|(_, evicted)| evicted.median).collect(),
    )
    .mode(Mode::LinesMarkers)
    .marker(Marker::new().color(classes::colour_at(0)))
    .error_y(ErrorData::new(ErrorType::Data).array(above).array_minus(below))
    .hover_template("%{x} lines used: %{y:.0f} evicted<extra></extra>");
    let mut plot = Plot::new();
    plot.add_trace(trace);
    let x = Axis::new().title("lines that the victim used");
    let y = Axis::new().title("lines seen evicted").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(layout(x, y).show_legend(false));
    Chart::new(id, "Calibration of the timing method", 300, &plot)
}

/// What a call costs by its caller's footprint, at home, away and posted.
pub fn footprint(id: String, name: &str, curves: &[Curve<'_>]) -> Chart {
    let mut plot = Plot::new();
    for (index, curve) in curves.iter().enumerate() {
        let points = || curve.points.iter();
        let hover = points()
            .map(|(bytes, ns)| format!("{}: {} at {}", curve.name, text::estimate(ns), text::bytes(*bytes)));
        let above = points().map(|(_, ns)| (ns.high - ns.median).max(0.0)).collect();
        let below = points().map(|(_, ns)| (ns.median - ns.low).max(0.0)).collect();
        let trace = Scatter::new(
            points().map(|point| point.0).collect(),
            points().map(|point| point.1.median).collect(),
        )
        .name(curve.name)
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(classes::colour_at(index)).width(2.0))
        .error_y(ErrorData::new(ErrorType::Data).array(above).array_minus(below))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let sizes: Vec<u64> = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    let (low, high) = (sizes.iter().min().copied().unwrap_or(1), sizes.iter().max().copied().unwrap_or(1));
    let ticks: Vec<u64> =
        (0..48u32).step_by(2).map(|power| 1u64 << power).filter(|size| (low..=high).contains(size)).collect();
    let x = Axis::new()
        .title("data that the caller has walked (logarithmic)")
        .type_(AxisType::Log)
        .tick_values(ticks.iter().map(|size| *size as f64).collect())
        .tick_text(ticks.iter().map(|size| text::bytes(*size)).collect());
    let y = Axis::new().title("ns").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(layout(x, y).show_legend(true));
    Chart::new(id, &format!("{}: cost by footprint", literal(name)), 320, &plot)
}
