//! Charts of the page, by crate plotly. Colours of text and ground are set in the page, which knows its theme.

mod bars;
mod calls;
mod clock;
mod heat;
mod lines;
pub mod memory;
pub mod path;
pub mod sync;
mod workloads;

use plotly::layout::{Axis, Legend, Margin};
use plotly::{Layout, Plot};
use serde_json::Value;

pub use bars::{evolution, histogram};
pub use calls::{calibration, calls, footprint};
pub use clock::clock;
pub use heat::heat_map;
pub use lines::{cpi, modes, reads, timeline};
pub use workloads::contributions;

/// A chart and how the page shows it.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Unique in the page.
    pub id: String,
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// Height in CSS pixels; the heat map takes its own from its width.
    pub height: u32,
    /// What page.js draws.
    pub json: Value,
}

impl Chart {
    fn new(id: String, title: &str, height: u32, plot: &Plot) -> Self {
        let json = serde_json::to_value(plot).expect("a plot serialises");
        Self { id, title: title.to_owned(), height, json }
    }
}

/// Plotly reads tags and entities in texts; those of a profile are to be shown as they are.
fn literal(text: &str) -> String {
    super::text::short(text, 80).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A layout with little margin and the legend above, where a phone has room for it.
fn layout(x: Axis, y: Axis) -> Layout {
    let legend = Legend::new()
        .trace_order(plotly::layout::TraceOrder::Normal)
        .orientation(plotly::common::Orientation::Horizontal)
        .x(0.0)
        .y(1.02)
        .y_anchor(plotly::common::Anchor::Bottom);
    Layout::new()
        .x_axis(x.auto_margin(true))
        .y_axis(y.auto_margin(true))
        .legend(legend)
        .margin(Margin::new().left(50).right(12).top(12).bottom(45))
}

/// An axis of times in ns whose positions are logarithms.
fn log_axis(title: &str, low: f64, high: f64) -> Axis {
    let (positions, texts) = super::scale::log_ticks(low, high).into_iter().unzip();
    Axis::new().title(title.to_owned()).tick_values(positions).tick_text(texts)
}

#[cfg(test)]
mod tests {
    #[test]
    fn plotly_sees_no_tags_of_a_profile() {
        assert_eq!(super::literal("<a href='x'>&amp;"), "&lt;a href='x'&gt;&amp;amp;");
    }
}
