//! Charts of barriers and of programs under them.

use plotly::common::{DashType, HoverInfo, Line, Marker, Mode, Orientation};
use plotly::layout::{Axis, AxisType, BarMode};
use plotly::{Bar, Plot, Scatter};

use super::{Chart, layout, literal};
use crate::report::{classes, text};

/// A line, or points alone.
#[derive(Debug, Clone)]
pub struct Series {
    pub name: String,
    /// One of [`classes::colour_at`].
    pub colour: usize,
    pub style: Style,
    pub points: Vec<(f64, f64)>,
    /// What to say of each point.
    pub hover: Vec<String>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Solid,
    Dashed,
    /// Published.
    Dotted,
    /// Points alone.
    Points,
    /// A line without points: a model or a limit.
    Line,
}

/// An axis of sizes.
pub struct Sizes<'a> {
    pub title: &'a str,
    /// Whether every size has a tick of its own.
    pub all: bool,
    /// How a tick is written.
    pub tick: fn(f64) -> String,
}

/// Lines over sizes, both axes logarithmic.
pub fn by_size(id: String, title: &str, sizes: &Sizes<'_>, y_title: &str, series: &[Series]) -> Chart {
    let mut plot = Plot::new();
    for one in series {
        let (dash, width, mode) = match one.style {
            Style::Solid => (DashType::Solid, 2.2, Mode::LinesMarkers),
            Style::Dashed => (DashType::Dash, 2.2, Mode::LinesMarkers),
            Style::Dotted => (DashType::Dot, 1.5, Mode::LinesMarkers),
            Style::Points => (DashType::Solid, 1.0, Mode::Markers),
            Style::Line => (DashType::Solid, 1.4, Mode::Lines),
        };
        let hover = one.hover.iter().map(|text| literal(text)).collect();
        let trace = Scatter::new(
            one.points.iter().map(|point| point.0).collect(),
            one.points.iter().map(|point| point.1).collect(),
        )
        .name(literal(&one.name))
        .mode(mode)
        .line(Line::new().color(classes::colour_at(one.colour)).dash(dash).width(width))
        .marker(Marker::new().size(7).color(classes::colour_at(one.colour)))
        .hover_text_array(hover)
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let points = || series.iter().flat_map(|one| one.points.iter());
    let mut ticks: Vec<f64> = points().map(|point| point.0).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let ends = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(2.0));
    let step = if sizes.all { 1 } else { ticks.len().div_ceil(8).max(1) };
    let ticks: Vec<f64> = ticks.into_iter().step_by(step).take(24).collect();
    let x = Axis::new()
        .title(sizes.title.to_owned())
        .type_(AxisType::Log)
        .range(vec![(ends.0 / 1.3).log10(), (ends.1 * 1.3).log10()])
        .tick_text(ticks.iter().map(|size| (sizes.tick)(*size)).collect())
        .tick_values(ticks);
    let y = Axis::new().title(y_title.to_owned()).type_(AxisType::Log);
    plot.set_layout(layout(x, decades(y, points().map(|point| point.1))).show_legend(true));
    let legend = u32::try_from(series.len().div_ceil(3)).unwrap_or(8).min(8);
    Chart::new(id, title, 330 + 22 * legend, &plot)
}

/// Ticks at 1, 2 and 5 where the values reach over few decades, at powers of ten otherwise.
fn decades(axis: Axis, values: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    if !(low.is_finite() && high.is_finite() && low <= high) {
        return axis;
    }
    let steps: &[f64] = if high / low < 2000.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let ticks: Vec<f64> = (first..=last)
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|tick| *tick >= low / 1.6 && *tick <= high * 1.6)
        .take(40)
        .collect();
    let texts = ticks.iter().map(|tick| tidy(*tick)).collect();
    axis.tick_values(ticks).tick_text(texts).range(vec![(low / 1.25).log10(), (high * 1.25).log10()])
}

/// `5`, `0.2`, `20000`: as short as it is exact.
fn tidy(tick: f64) -> String {
    if (1e-3..1e6).contains(&tick) {
        format!("{}", (tick * 1e4).round() / 1e4)
    } else {
        format!("{tick:.0e}")
    }
}

/// Bars of two parts each, from left to right.
pub fn stacked(id: String, title: &str, x_title: &str, parts: [&str; 2], bars: &[Stack]) -> Chart {
    let mut plot = Plot::new();
    for (part, colour) in [(0, 0), (1, 1)] {
        // Plotly stacks rows from below.
        let rows = || bars.iter().rev();
        let hover = rows().map(|bar| {
            let share = 100.0 * bar.values[part] / (bar.values[0] + bar.values[1]);
            literal(&format!(
                "{}: {} {} ({share:.0} %)",
                bar.name,
                parts[part],
                text::number(bar.values[part])
            ))
        });
        let trace = Bar::new(
            rows().map(|bar| bar.values[part]).collect(),
            rows().map(|bar| literal(&bar.name)).collect::<Vec<_>>(),
        )
        .name(parts[part])
        .orientation(Orientation::Horizontal)
        .marker(Marker::new().color(classes::colour_at(colour)))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let x = Axis::new().title(x_title.to_owned()).range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(layout(x, Axis::new()).bar_mode(BarMode::Stack).show_legend(true));
    let height = 120 + 30 * u32::try_from(bars.len()).unwrap_or(u32::MAX / 64).min(60);
    Chart::new(id, title, height, &plot)
}

/// A bar of two parts.
#[derive(Debug, Clone)]
pub struct Stack {
    pub name: String,
    pub values: [f64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_short() {
        assert_eq!((tidy(0.2), tidy(20_000.0)), ("0.2".to_owned(), "20000".to_owned()));
        let axis = decades(Axis::new(), [30.0, 900.0].into_iter());
        let json = serde_json::to_value(axis).unwrap();
        assert_eq!(json["ticktext"], serde_json::json!(["20", "50", "100", "200", "500", "1000"]));
        assert!(
            serde_json::to_value(decades(Axis::new(), std::iter::empty())).unwrap()["ticktext"].is_null()
        );
    }
}
