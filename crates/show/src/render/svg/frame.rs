//! What every chart over axes has: frame, grid, ticks, titles, legend, marks.

use maud::{Markup, PreEscaped, html};

use super::axes::Placed;
use super::{FONT, px, text_width};
use crate::chart::{At, Chart, Colour, Mark};
use crate::words;

/// How wide a chart is.
pub(super) const WIDTH: f64 = 680.0;
/// How high the space for lines is.
pub(super) const PLOT_HEIGHT: f64 = 280.0;
const TOP: f64 = 26.0;
const RIGHT: f64 = 16.0;
/// Below the plot: ticks and the axis' title.
const BELOW: f64 = 44.0;
const LEGEND_LINE: f64 = 20.0;

/// The space inside the axes, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Space {
    /// With room at the left for texts, and so high.
    pub(super) fn new(left: f64, height: f64) -> Self {
        Self { left, top: TOP, right: WIDTH - RIGHT, bottom: TOP + height }
    }
}

/// How much room the texts of a vertical axis take.
pub(super) fn room_of<'a>(texts: impl Iterator<Item = &'a String>) -> f64 {
    texts.map(|text| text_width(text)).fold(18.0, f64::max) + 14.0
}

/// The axes of a plot of this height that shows these values, and the space between them.
pub(super) fn axes(chart: &Chart, xs: &[f64], ys: &[f64], height: f64) -> (Space, Placed, Placed) {
    let whole = Space::new(0.0, height);
    let y = Placed::of(&chart.y, ys, whole.bottom, whole.top);
    let space = Space::new(room_of(y.ticks.iter().map(|(_, text)| text)), height);
    (space, Placed::of(&chart.x, xs, space.left, space.right), y)
}

/// The values at which lines cross the chart from side to side, or from top to bottom.
pub(super) fn marked(chart: &Chart, across: bool) -> impl Iterator<Item = f64> {
    chart.marks.iter().filter_map(move |mark| match (mark.at, across) {
        (At::X(value), false) | (At::Y(value), true) => Some(value),
        _ => None,
    })
}

/// The whole chart around what is drawn inside. `sample` draws the line or bar of a name of the legend at a place.
pub(super) fn chart(
    chart: &Chart,
    space: Space,
    (x, y): (&Placed, Option<&Placed>),
    names: &[&str],
    sample: impl Fn(usize, f64, f64) -> Markup,
    inside: &Markup,
) -> Markup {
    let (rows, legend) = legend(names, sample, space.bottom + BELOW + FONT);
    let height = space.bottom + BELOW + rows as f64 * LEGEND_LINE + 4.0;
    html! {
        svg class="chart" viewBox=(format!("0 0 {WIDTH} {}", px(height))) width=(WIDTH) height=(px(height)) role="img"
            aria-label=(chart.title) font-family="system-ui, sans-serif" font-size=(FONT) fill="currentColor" {
            text x="2" y="14" font-weight="600" { (words::short(&chart.y.title, 100)) }
            (grid(space, x, y))
            (inside)
            @for mark in &chart.marks { (self::mark(mark, space, x, y)) }
            text x=(px((space.left + space.right) / 2.0)) y=(px(space.bottom + 36.0)) text-anchor="middle" {
                (words::short(&chart.x.title, 100))
            }
            (legend)
        }
    }
}

fn grid(space: Space, x: &Placed, y: Option<&Placed>) -> Markup {
    let mut path = String::new();
    for (at, _) in &x.ticks {
        path += &format!("M{} {}V{}", px(*at), px(space.top), px(space.bottom));
    }
    for (at, _) in y.iter().flat_map(|y| &y.ticks) {
        path += &format!("M{} {}H{}", px(space.left), px(*at), px(space.right));
    }
    let frame = format!("M{} {}V{}H{}", px(space.left), px(space.top), px(space.bottom), px(space.right));
    html! {
        path d=(path) stroke="currentColor" stroke-opacity=".14" fill="none" {}
        path d=(frame) stroke="currentColor" stroke-opacity=".6" fill="none" {}
        g text-anchor="middle" { @for (at, text) in &x.ticks {
            text x=(px(*at)) y=(px(space.bottom + 16.0)) { (text) }
        } }
        g text-anchor="end" { @for (at, text) in y.iter().flat_map(|y| &y.ticks) {
            text x=(px(space.left - 6.0)) y=(px(at + 4.0)) { (text) }
        } }
    }
}

fn mark(mark: &Mark, space: Space, x: &Placed, y: Option<&Placed>) -> Markup {
    let colour = mark.colour.css();
    let label = words::short(&mark.label, 60);
    let (path, (at_x, at_y), anchor) = match (mark.at, y) {
        (At::X(value), _) => {
            let at = px(x.at(value));
            let right = at + 4.0 + text_width(&label) > space.right;
            let (place, anchor) = if right { (at - 4.0, "end") } else { (at + 4.0, "start") };
            // Within the frame, bars would cover it; above it there is room.
            let height = if y.is_some() { space.top + 12.0 } else { space.top - 5.0 };
            (format!("M{at} {}V{}", px(space.top), px(space.bottom)), (place, height), anchor)
        }
        (At::Y(value), Some(y)) => {
            let at = px(y.at(value));
            (format!("M{} {at}H{}", px(space.left), px(space.right)), (space.right - 2.0, at - 4.0), "end")
        }
        (At::Y(_), None) => return html! {},
    };
    html! {
        path d=(path) stroke=(colour) stroke-dasharray="6 3" stroke-width="1.4" fill="none" { title { (label) } }
        text x=(px(at_x)) y=(px(at_y)) text-anchor=(anchor) font-size="11" { (label) }
    }
}

/// How many rows the legend has, and what is in them; none where there is one thing, which the titles name.
fn legend(names: &[&str], sample: impl Fn(usize, f64, f64) -> Markup, top: f64) -> (usize, Markup) {
    if names.len() < 2 {
        return (0, html! {});
    }
    let (mut x, mut row) = (4.0, 0usize);
    let mut drawn = String::new();
    for (index, name) in names.iter().map(|name| words::short(name, 70)).enumerate() {
        let width = 30.0 + text_width(&name) + 14.0;
        if x > 4.0 && x + width > WIDTH {
            (x, row) = (4.0, row + 1);
        }
        let y = top + row as f64 * LEGEND_LINE;
        let text = html! { text x=(px(x + 30.0)) y=(px(y)) { (name) } };
        drawn += &html! { g data-entry=(index) { (sample(index, x, y - 4.0)) (text) } }.0;
        x += width;
    }
    (row + 1, PreEscaped(drawn))
}

/// A line through an interval's ends.
pub(super) fn interval(vertical: bool, at: f64, from: f64, to: f64, colour: Colour) -> Markup {
    let (at, from, to) = (px(at), px(from), px(to));
    let begin = at - 3.0;
    let path = match vertical {
        true => format!("M{at} {from}V{to}M{begin} {from}h6M{begin} {to}h6"),
        false => format!("M{from} {at}H{to}M{from} {begin}v6M{to} {begin}v6"),
    };
    html! { path d=(path) stroke=(colour.css()) stroke-opacity=".8" fill="none" {} }
}

/// A value with the ends of its interval.
pub(super) fn with_ends(value: f64, interval: Option<(f64, f64)>) -> impl Iterator<Item = f64> {
    std::iter::once(value).chain(interval.into_iter().flat_map(|(low, high)| [low, high]))
}
