//! Charts of lines and points.

use coho_profile::{Timeline, published::kawabe_furuya::Molka};
use plotly::common::{DashType, HoverInfo, Line, Marker, Mode};
use plotly::layout::{Axis, AxisType, Shape, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};

use super::{Chart, layout, literal};
use crate::report::cpi::Model;
use crate::report::reads::Line as ReadLine;
use crate::report::stability::Jumper;
use crate::report::{classes, scale, text};

const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::Dot, DashType::DashDot];

/// Cycles per instruction against the share of instructions that cause a coherence event (Kawabe & Furuya, Figs. 4 and
/// 6).
pub fn cpi(id: String, models: &[Model]) -> Chart {
    let mut plot = Plot::new();
    for model in models {
        let points = &model.line.points;
        let hover = points.iter().map(|point| {
            format!("{}: {} at {} %", literal(&model.name()), text::printed(point.cpi), point.rate_percent)
        });
        let (dash, width, size) =
            if model.published { (DashType::Dot, 1.5, 4) } else { (DashType::Solid, 2.5, 6) };
        let trace = Scatter::new(
            points.iter().map(|point| point.rate_percent).collect(),
            points.iter().map(|point| point.cpi).collect(),
        )
        .name(literal(&model.name()))
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(classes::colour(&model.class)).dash(dash).width(width))
        .marker(Marker::new().size(size))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let x = Axis::new().title("instructions that cause a coherence event, %");
    let y = Axis::new().title("cycles per instruction").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(layout(x, y).show_legend(true));
    Chart::new(id, "Cycles per instruction against the rate of coherence events, by class", 420, &plot)
}

/// Latency of reads by size, with Molka et al.'s values for state Exclusive.
pub fn reads(id: String, lines: &[ReadLine], molka: &Molka) -> Chart {
    let mut plot = Plot::new();
    let mut states: Vec<&str> = lines.iter().map(|line| line.state.as_str()).collect();
    states.sort_unstable();
    states.dedup();
    for line in lines {
        let dash = states.iter().position(|state| *state == line.state).unwrap_or(0) % DASHES.len();
        let hover = line.points.iter().map(|(bytes, ns, n)| {
            format!("{}<br>{}: {} ns, n = {n}", literal(&line.name()), text::bytes(*bytes), text::number(*ns))
        });
        let trace = Scatter::new(
            line.points.iter().map(|point| point.0).collect(),
            line.points.iter().map(|point| point.1).collect(),
        )
        .name(literal(&line.name()))
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(classes::colour(&line.relation)).dash(DASHES[dash].clone()).width(2.0))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let sizes = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
    let (low, high) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
    let published =
        std::iter::once(("on-die", molka.on_die)).chain(molka.hop1.iter().map(|ns| ("1-hop", *ns)));
    for (class, ns) in published {
        let name = format!("Molka et al. 2009, exclusive, {class}: {ns} ns");
        let trace = Scatter::new(vec![low, high], vec![ns, ns])
            .name(name)
            .mode(Mode::Lines)
            .line(Line::new().color("#8c8c8c").dash(DashType::LongDash).width(1.2))
            .hover_info(HoverInfo::Name);
        plot.add_trace(trace);
    }
    let step = if high / low.max(1) > 1 << 8 { 2 } else { 1 };
    let ticks: Vec<u64> = (0..48u32)
        .step_by(step)
        .map(|power| 1u64 << power)
        .filter(|size| (low..=high).contains(size))
        .collect();
    let x = Axis::new()
        .title("buffer size (logarithmic)")
        .type_(AxisType::Log)
        .tick_values(ticks.iter().map(|size| *size as f64).collect())
        .tick_text(ticks.iter().map(|size| text::bytes(*size)).collect());
    let y = Axis::new().title("time per load, ns").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(layout(x, y).show_legend(true));
    Chart::new(id, "Latency of reads by buffer size, state and owner", 460, &plot)
}

/// One pair's time over a while, its modes and change points.
pub fn timeline(id: String, timeline: &Timeline, samples: &[(f64, f64)]) -> Chart {
    let mut plot = Plot::new();
    let trace = Scatter::new(
        samples.iter().map(|sample| sample.0).collect(),
        samples.iter().map(|sample| sample.1).collect(),
    )
    .name("sample")
    .mode(Mode::Markers)
    .marker(Marker::new().size(4).color(classes::colour_at(0)))
    .hover_template("%{y:.1f} ns at %{x:.2f} s<extra></extra>");
    plot.add_trace(trace);
    let line = |colour: &str, dash| ShapeLine::new().width(1.2).dash(dash).color(colour.to_owned());
    let line_shape = || Shape::new().shape_type(ShapeType::Line);
    let change = |at: &f64| {
        let shape = line_shape().x_ref("x").y_ref("paper").x0(*at).x1(*at).y0(0.0).y1(1.0);
        shape.line(line("#d55e00", DashType::Dash))
    };
    let mode = |mode: &coho_profile::Mode| {
        let shape = line_shape().x_ref("paper").y_ref("y").x0(0.0).x1(1.0).y0(mode.value).y1(mode.value);
        shape.line(line("#009e73", DashType::Dot))
    };
    let finite_changes = timeline.change_points_s.iter().filter(|at| at.is_finite()).take(200).map(change);
    let modes = timeline.modes.iter().filter(|mode| scale::is_time(mode.value)).take(20).map(mode);
    let x = Axis::new().title("time from the start, s");
    let y = Axis::new().title("time per step, ns");
    plot.set_layout(layout(x, y).show_legend(false).shapes(finite_changes.chain(modes).collect()));
    Chart::new(id, "One pair's time over a while", 280, &plot)
}

/// The pairs that jumped between values: a point for each value, the larger the more often it was seen.
pub fn modes(id: String, jumpers: &[Jumper]) -> Chart {
    let (mut x, mut y, mut sizes, mut hover) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for jumper in jumpers {
        for mode in jumper.modes.iter().filter(|mode| scale::is_time(mode.value)) {
            x.push(literal(&jumper.name));
            y.push(mode.value);
            sizes.push(4 + (mode.share.clamp(0.0, 1.0) * 14.0) as usize);
            hover.push(format!(
                "{}: {} ns in {:.0} % of batches",
                literal(&jumper.name),
                text::number(mode.value),
                mode.share * 100.0
            ));
        }
    }
    let mut plot = Plot::new();
    plot.add_trace(
        Scatter::new(x, y)
            .mode(Mode::Markers)
            .marker(Marker::new().size_array(sizes).color(classes::colour_at(0)))
            .hover_text_array(hover)
            .hover_info(HoverInfo::Text),
    );
    let axis = Axis::new().tick_angle(if jumpers.len() > 3 { 60.0 } else { 0.0 });
    plot.set_layout(layout(axis, Axis::new().title("time, ns")).show_legend(false));
    Chart::new(id, "Values between which pairs jumped", 340, &plot)
}
