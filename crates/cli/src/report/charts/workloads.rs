//! Charts of whole programs.

use coho_model::placement::Contrast;
use plotly::common::{HoverInfo, Marker, Orientation};
use plotly::layout::{Axis, BarMode};
use plotly::{Bar, Plot};

use super::{Chart, layout, literal};

/// What each test contributes to the change of the index, in hundredths of its logarithm.
pub fn contributions(id: String, contrasts: &[Contrast]) -> Chart {
    let mut plot = Plot::new();
    // Plotly stacks rows from below.
    for (pair, name, colour) in [(1, "C6 off", "#0072b2"), (0, "C6 on", "#e69f00")] {
        let rows =
            contrasts.iter().rev().filter_map(|contrast| Some((contrast.test, contrast.index_points?)));
        let (names, points): (Vec<String>, Vec<f64>) =
            rows.map(|(test, points)| (literal(test), points[pair])).unzip();
        let hover = points.iter().zip(&names).map(|(points, test)| format!("{test}, {name}: {points:+.2}"));
        let trace = Bar::new(points.clone(), names.clone())
            .name(name)
            .orientation(Orientation::Horizontal)
            .marker(Marker::new().color(colour))
            .hover_text_array(hover.collect())
            .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let x = Axis::new().title("hundredths of the index's logarithm");
    plot.set_layout(layout(x, Axis::new()).bar_mode(BarMode::Group).show_legend(true));
    Chart::new(id, "What the patch does to the index by test", 460, &plot)
}
