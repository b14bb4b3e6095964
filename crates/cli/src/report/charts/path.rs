//! Gains of one way over another by gap.

use plotly::common::{DashType, HoverInfo, Line, Marker, Mode};
use plotly::layout::{Axis, AxisType};
use plotly::{Plot, Scatter};

use super::{Chart, layout, literal};
use crate::report::{classes, text};

/// A line of gains: a size by an instruction.
#[derive(Debug, Clone)]
pub struct Gains {
    pub name: String,
    /// One of [`classes::colour_at`].
    pub colour: usize,
    pub dashed: bool,
    /// Gap in ns, gain as a share.
    pub points: Vec<(f64, f64)>,
}

/// Ticks of the gap, in ns.
const GAPS: [(f64, &str); 7] = [
    (1.0, "1 ns"),
    (10.0, "10 ns"),
    (100.0, "100 ns"),
    (1e3, "1 us"),
    (1e4, "10 us"),
    (1e5, "100 us"),
    (1e6, "1 ms"),
];

/// The share of time saved against the gap, which is logarithmic.
pub fn gains(id: String, title: &str, x_title: &str, lines: &[Gains]) -> Chart {
    let mut plot = Plot::new();
    for line in lines {
        let dash = if line.dashed { DashType::Dash } else { DashType::Solid };
        let hover = line.points.iter().map(|(gap, gain)| {
            literal(&format!("{}: {:+.1} % at {} ns", line.name, gain * 100.0, text::number(*gap)))
        });
        let trace = Scatter::new(
            line.points.iter().map(|point| point.0).collect(),
            line.points.iter().map(|point| point.1 * 100.0).collect(),
        )
        .name(literal(&line.name))
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(classes::colour_at(line.colour)).dash(dash).width(2.0))
        .marker(Marker::new().size(6).color(classes::colour_at(line.colour)))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let x = Axis::new()
        .title(x_title.to_owned())
        .type_(AxisType::Log)
        .tick_values(GAPS.map(|(gap, _)| gap).to_vec())
        .tick_text(GAPS.map(|(_, name)| name.to_owned()).to_vec());
    let y = Axis::new().title("time saved, %");
    plot.set_layout(layout(x, y).show_legend(true));
    Chart::new(id, title, 380, &plot)
}
