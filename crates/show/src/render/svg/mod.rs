//! Charts, maps and drawings as SVG: the same on the page and as files. Whatever is drawn says its figure when pointed at.

mod axes;
mod bars;
mod boxes;
mod frame;
mod graph;
mod lines;
mod map;
mod ticks;

use maud::Markup;

pub use boxes::{drawing, width_of};
pub use graph::graph;
pub use map::{Size, map};

use crate::chart::{Chart, Plot};
use crate::visible::{Style, visible};

/// A chart as an `svg` element.
pub fn chart(chart: &Chart) -> Markup {
    match &chart.plot {
        Plot::Lines(series) => lines::lines(chart, series),
        Plot::Bars { categories, series } => bars::bars(chart, categories, series),
        Plot::Histogram(bins) => bars::histogram(chart, bins),
    }
}

/// An `svg` element as a file of its own: on paper, in the colours of print.
pub fn file(element: &Markup) -> String {
    let svg = element.0.replacen(
        "<svg ",
        "<svg xmlns=\"http://www.w3.org/2000/svg\" style=\"color:#1c1e21;background:#fff\" ",
        1,
    );
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", visible(&svg, Style::Xml))
}

/// A place in pixels, to a tenth.
fn px(value: f64) -> f64 {
    // What a damaged profile brings must not make the picture invalid.
    if value.is_finite() { (value * 10.0).round() / 10.0 } else { 0.0 }
}

/// How wide a text is about, in pixels, at the size of charts' letters.
fn text_width(text: &str) -> f64 {
    // Letters of Chinese and Japanese are as wide as they are high.
    text.chars().map(|c| if u32::from(c) >= 0x2e80 { LETTER * 2.0 } else { LETTER }).sum()
}

/// The height of letters.
const FONT: f64 = 12.0;
/// The width of one, generously.
const LETTER: f64 = 6.6;
