//! Charts of bars.

use plotly::common::{DashType, HoverInfo, Marker, Orientation, TextPosition};
use plotly::layout::{Annotation, Axis, AxisType, BarMode, Shape, ShapeLine, ShapeType};
use plotly::{Bar, Plot};

use super::{Chart, layout, literal, log_axis};
use crate::report::classes;
use crate::report::evolution::Bar as Processor;
use crate::report::histogram::Histogram;
use crate::report::text;

/// Pair times by claimed class; `found` are the classes that the figures show, by name and median in ns.
pub fn histogram(id: String, histogram: &Histogram, found: &[(String, f64)]) -> Chart {
    let mut plot = Plot::new();
    for (class, counts) in &histogram.series {
        let bins: Vec<usize> = (0..counts.len()).filter(|&bin| counts[bin] > 0).collect();
        let centres = bins.iter().map(|&bin| histogram.start + histogram.step * (bin as f64 + 0.5)).collect();
        let hover = bins.iter().map(|&bin| {
            let (low, high) = histogram.ends(bin);
            let ends = format!("{}–{} ns", text::printed(low), text::printed(high));
            format!("{}: {} of {} pairs, {ends}", literal(class), counts[bin], histogram.pairs)
        });
        let trace = Bar::new(centres, bins.iter().map(|&bin| counts[bin]).collect())
            .name(literal(class))
            .width(histogram.step)
            .opacity(if histogram.lopsided() { 0.8 } else { 1.0 })
            .marker(Marker::new().color(classes::colour(class)))
            .hover_text_array(hover.collect())
            .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let (low, high) = (histogram.ends(0).0, histogram.ends(histogram.bins()).0);
    let mark = |ns: f64| {
        Shape::new()
            .shape_type(ShapeType::Line)
            .x_ref("x")
            .y_ref("paper")
            .x0(ns.log10())
            .x1(ns.log10())
            .y0(0.0)
            .y1(1.0)
            .line(ShapeLine::new().width(1.0).dash(DashType::Dot).color("#888888"))
    };
    let name = |(name, ns): &(String, f64)| {
        Annotation::new()
            .text(literal(name))
            .x(ns.log10())
            .y_ref("paper")
            .y(1.0)
            .text_angle(-90.0)
            .x_anchor(plotly::common::Anchor::Right)
            .y_anchor(plotly::common::Anchor::Top)
            .show_arrow(false)
    };
    let within = |(_, ns): &&(String, f64)| *ns >= low && *ns <= high;
    let count = Axis::new().n_ticks(6).tick_format(",d");
    // Stacks do not go with a logarithmic axis, but a few near pairs must not vanish beside many far ones.
    let (mode, count) = if histogram.lopsided() {
        (
            BarMode::Overlay,
            count.title("pairs (logarithmic)").type_(AxisType::Log).dtick(1.0).range(histogram.log_range()),
        )
    } else {
        (BarMode::Stack, count.title("pairs"))
    };
    plot.set_layout(
        layout(log_axis("time, ns (logarithmic)", low, high), count)
            .bar_mode(mode)
            .show_legend(true)
            .shapes(found.iter().filter(within).map(|(_, ns)| mark(*ns)).collect())
            .annotations(found.iter().filter(within).map(name).collect()),
    );
    Chart::new(id, "Histogram of pair times by claimed class", 320, &plot)
}

/// Coherence time on one die over generations of processors (Kawabe & Furuya, Fig. 7).
pub fn evolution(id: String, processors: &[Processor]) -> Chart {
    let mut plot = Plot::new();
    // Plotly stacks rows from below.
    for (published, name, colour) in [(true, "published", "#8c8c8c"), (false, "in these profiles", "#0072b2")]
    {
        let rows: Vec<&Processor> =
            processors.iter().rev().filter(|row| row.published == published).collect();
        if rows.is_empty() {
            continue;
        }
        let trace = Bar::new(
            rows.iter().map(|row| row.ns).collect(),
            rows.iter().map(|row| literal(&row.name)).collect::<Vec<_>>(),
        )
        .name(name)
        .orientation(Orientation::Horizontal)
        .marker(Marker::new().color(colour))
        .text_array(rows.iter().map(|row| format!("{} ns", text::printed(row.ns))).collect())
        .text_position(TextPosition::Outside)
        .clip_on_axis(false)
        .hover_info(HoverInfo::None);
        plot.add_trace(trace);
    }
    // Figures stand behind their bars.
    let room = 1.3 * processors.iter().fold(0.0, |most: f64, row| most.max(row.ns));
    let x = Axis::new().title("ns").range(vec![0.0, room]);
    plot.set_layout(layout(x, Axis::new()).show_legend(true));
    let height = 110 + 34 * u32::try_from(processors.len()).unwrap_or(u32::MAX / 64).min(60);
    Chart::new(id, "Coherence time on one die by processor", height, &plot)
}
