//! Charts of memory: bars side by side.

use plotly::common::{HoverInfo, Marker};
use plotly::layout::{Axis, AxisType, BarMode};
use plotly::{Bar, Plot};

use super::{Chart, layout, literal};
use crate::report::{classes, text};

/// Bars of one colour: a name and a value each.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub bars: Vec<(String, f64)>,
}

/// Bars in groups, on a logarithmic axis.
pub fn grouped(id: String, title: &str, y_title: &str, groups: &[Group]) -> Chart {
    let mut plot = Plot::new();
    for (colour, group) in groups.iter().enumerate() {
        let hover = group
            .bars
            .iter()
            .map(|(name, value)| literal(&format!("{name}, {}: {}", group.name, text::number(*value))));
        let trace = Bar::new(
            group.bars.iter().map(|(name, _)| literal(name)).collect::<Vec<_>>(),
            group.bars.iter().map(|(_, value)| *value).collect(),
        )
        .name(literal(&group.name))
        .marker(Marker::new().color(classes::colour_at(colour)))
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text);
        plot.add_trace(trace);
    }
    let y = Axis::new().title(y_title.to_owned()).type_(AxisType::Log).dtick(1.0);
    plot.set_layout(layout(Axis::new().tick_angle(60.0), y).bar_mode(BarMode::Group).show_legend(true));
    Chart::new(id, title, 440, &plot)
}
