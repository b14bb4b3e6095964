//! What every chart over axes has: frame, grid, ticks, titles, legend, marks.

use maud::{Markup, PreEscaped, html};

use super::axes::Placed;
use super::{FONT, px, text_width};
use crate::chart::{At, Axis, Chart, Colour, Mark, Scale};
use crate::{scale, words};

/// How wide a chart is.
pub(super) const WIDTH: f64 = 680.0;
/// How high the space for lines is.
pub(super) const PLOT_HEIGHT: f64 = 280.0;
const TOP: f64 = 26.0;
const RIGHT: f64 = 16.0;
/// Below the plot: ticks and the axis' title.
const BELOW: f64 = 44.0;
const LEGEND_LINE: f64 = 20.0;
/// How much wider the letters of some systems' fonts are: over a whole name it adds up.
const WIDE_FONT: f64 = 1.1;

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
    texts.map(|text| text_width(text) * WIDE_FONT).fold(18.0, f64::max) + 14.0
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
            // A long text at the end would be cut.
            text x=(px(at.min(WIDTH - text_width(text) * WIDE_FONT / 2.0))) y=(px(space.bottom + 16.0)) { (text) }
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
        let width = 30.0 + text_width(&name) * WIDE_FONT + 14.0;
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

/// Lines through intervals' ends, as paths.
pub(super) fn intervals(paths: &str, colour: Colour) -> Markup {
    html! { @if !paths.is_empty() { path d=(paths) stroke=(colour.css()) stroke-opacity=".8" fill="none" {} } }
}

/// A line through an interval's ends, with a cap at each; one that the axis does not reach is cut at the frame, without
/// a cap.
pub(super) fn interval(vertical: bool, at: f64, axis: &Placed, ends: (f64, f64)) -> String {
    let (at, from, to) = (px(at), px(axis.at(ends.0)), px(axis.at(ends.1)));
    let mut path = if vertical { format!("M{at} {from}V{to}") } else { format!("M{from} {at}H{to}") };
    for end in [ends.0, ends.1].into_iter().filter(|end| axis.holds(*end)) {
        let (place, begin) = (px(axis.at(end)), at - 3.0);
        path += &if vertical { format!("M{begin} {place}h6") } else { format!("M{place} {begin}v6") };
    }
    path
}

/// What an axis must show: values, each with its interval, and those ends of intervals that lie within reach of the
/// values. One interval that reaches far beyond must not push everything else into a corner.
pub(super) fn within_reach(axis: &Axis, values: impl Iterator<Item = (f64, Option<(f64, f64)>)>) -> Vec<f64> {
    let (mut shown, intervals): (Vec<f64>, Vec<_>) = values.unzip();
    let drawn = shown.iter().copied().filter(|value| axis.scale == Scale::Linear || *value > 0.0);
    let Some((least, most)) = scale::ends(drawn) else { return shown };
    let reach = match axis.scale {
        Scale::Log => least / 4.0..=most * 4.0,
        Scale::Linear => {
            let span = if axis.from_zero { most.max(0.0) - least.min(0.0) } else { most - least };
            let span = if span > 0.0 { span } else { most.abs() };
            least - span..=most + span
        }
    };
    let ends = intervals.into_iter().flatten().flat_map(|(low, high)| [low, high]);
    shown.extend(ends.filter(|end| reach.contains(end)));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Point, Series, Stroke};

    fn drawn(axis: Axis, high: f64) -> String {
        let point = |x: f64, y: f64, interval| Point { x, y, interval, hover: String::new() };
        let points = [point(1.0, 100.0, Some((90.0, 120.0))), point(2.0, 200.0, Some((180.0, high)))];
        let series = vec![Series::new("a", Colour::nth(0), Stroke::Solid).points(points)];
        super::super::chart(&Chart::lines("c", "C", [Axis::log("x"), axis], series)).into_string()
    }

    #[test]
    fn an_end_out_of_reach_neither_flattens_the_rest_nor_has_a_cap() {
        for axis in [Axis::linear("ns"), Axis::linear("ns").tight(), Axis::log("ns")] {
            let [near, far] = [220.0, 5e6].map(|high| drawn(axis.clone(), high));
            assert_eq!((near.matches("h6").count(), far.matches("h6").count()), (4, 3), "{axis:?} {far}");
            let values = [(100.0, Some((90.0, 120.0))), (200.0, Some((180.0, 5e6)))];
            assert_eq!(within_reach(&axis, values.into_iter()), [100.0, 200.0, 90.0, 120.0, 180.0]);
        }
        let below = within_reach(&Axis::log("ns"), [(100.0, Some((-5.0, 110.0)))].into_iter());
        assert_eq!(below, [100.0, 110.0]);
        assert!(within_reach(&Axis::linear("ns"), std::iter::empty()).is_empty());
    }

    #[test]
    fn texts_stay_within_the_drawing() {
        let point = |x: f64| Point { x, y: 1.0, interval: None, hover: String::new() };
        let series =
            Series::new("a", Colour::nth(0), Stroke::Solid).points([point(16384.0), point(67_108_864.0)]);
        let drawn = super::super::chart(&Chart::lines(
            "c",
            "C",
            [Axis::bytes("size"), Axis::log("ns")],
            vec![series],
        ));
        let (before, _) = drawn.0.split_once(">64 MiB<").expect("the last tick");
        let x: f64 = before.rsplit_once("x=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
        assert!(x + 6.0 * 7.2 / 2.0 <= WIDTH, "{x}");

        let names = ["shared-memory, measured", "tcp-loopback, predicted"];
        let (rows, legend) = legend(&names, |_, x, _| html! { i { (x) } }, 0.0);
        let second: f64 = legend.0.split("<i>").nth(2).unwrap().split('<').next().unwrap().parse().unwrap();
        assert!(rows == 1 && second >= 34.0 + 23.0 * 7.2, "{second}");
    }
}
