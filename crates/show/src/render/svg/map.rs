//! Times between CPUs as colours: cells with their figures for a few CPUs, a picture for many.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::{px, text_width, ticks};
use crate::chart::Map;
use crate::colour::{Rgb, of_distance};
use crate::matrix::{Matrix, Order, View};
use crate::{scale, words};

/// How much room a map has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// At the head of a page.
    Small,
    /// In its section, and as a file.
    Large,
}

/// Up to this many CPUs, each cell is a box with its figure; more are a picture, whose times the page tells when pointed at.
const FIGURED: usize = 12;
/// Up to this many CPUs, each has its name at the axis.
const NAMED: usize = 32;
/// Between the map and what stands beside it.
const GAP: f64 = 10.0;
/// Above the map.
const TOP: f64 = 8.0;
/// Steps of the legend.
const STEPS: usize = 32;

/// A view of a map, its CPUs in an order, as an `svg` element; `None` if it has no such view or order.
pub fn map(map: &Map, view: usize, order: usize, size: Size) -> Option<Markup> {
    let matrix = &map.matrix;
    let (view, order) = (matrix.views.get(view)?, matrix.orders.get(order)?);
    let ends = scale::colour_ends(view.ns.iter().copied())?;
    // A few CPUs need no large cells.
    let n = order.cells.len();
    let side = match size {
        Size::Small => (60.0 * n as f64).min(250.0),
        Size::Large => (90.0 * n as f64).min(470.0),
    };
    let names = names(matrix, order);
    let left = names.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max) + GAP;
    let drawn = Drawn { matrix, view, order, n, left, side, ends };
    let (width, height) = (px(left + side + 14.0), px(TOP + side + 40.0));
    Some(html! {
        svg class="map" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img"
            aria-label=(map.title) font-family="system-ui, sans-serif" font-size="11" fill="currentColor" {
            @if n <= FIGURED { (drawn.cells()) } @else { (drawn.picture(size)) }
            (drawn.bounds())
            @for (place, text) in &names {
                text x=(px(left - 6.0)) y=(px(TOP + (*place as f64 + 0.5) / n as f64 * side + 4.0)) text-anchor="end" { (text) }
            }
            (drawn.legend(TOP + side + 12.0))
        }
    })
}

/// A view of a matrix in an order, with its place and the times at the ends of its colours.
struct Drawn<'a> {
    matrix: &'a Matrix,
    view: &'a View,
    order: &'a Order,
    /// How many cells a side has.
    n: usize,
    left: f64,
    side: f64,
    ends: (f64, f64),
}

impl Drawn<'_> {
    fn time(&self, row: usize, column: usize) -> Option<f64> {
        self.matrix.time(self.view, self.order.cells[row], self.order.cells[column])
    }

    fn label(&self, place: usize) -> &str {
        &self.matrix.labels[self.order.cells[place]]
    }

    /// Whether all times have one colour.
    fn is_flat(&self) -> bool {
        self.ends.1 / self.ends.0 < 1.001
    }

    /// How near a time is, from 0 to 1, by which it has its colour.
    fn position(&self, ns: f64) -> f64 {
        let (low, high) = self.ends;
        if self.is_flat() { 0.0 } else { ((ns / low).ln() / (high / low).ln()).clamp(0.0, 1.0) }
    }

    fn cells(&self) -> Markup {
        let step = self.side / self.n as f64;
        html! { @for row in 0..self.n { @for column in 0..self.n {
            @let (x, y) = (self.left + column as f64 * step, TOP + row as f64 * step);
            @if let Some(ns) = self.time(row, column) {
                @let colour = of_distance(self.position(ns));
                rect x=(px(x)) y=(px(y)) width=(px(step)) height=(px(step)) fill=(css(colour)) {
                    title { (self.label(row)) " and " (self.label(column)) ": " (words::number(ns)) " ns" }
                }
                text x=(px(x + step / 2.0)) y=(px(y + step / 2.0 + 4.0)) text-anchor="middle" fill=(on(colour)) pointer-events="none" {
                    (words::number(ns)) @if self.n <= 4 { " ns" }
                }
            }
        } } }
    }

    /// One point a cell. A large map has the times beside it in base64 for whoever points at one: code 0 is "not measured",
    /// code `c` the time `low * exp((c - 1) * step)`; the page's script takes those of a small one from the large one.
    fn picture(&self, size: Size) -> Markup {
        let n = self.n;
        let times = self.view.ns.iter().copied().filter(|ns| scale::is_time(*ns));
        let (least, most) = scale::ends(times).unwrap_or(self.ends);
        let step = ((most / least).ln() / 65_534.0).max(1e-9);
        let mut points = Vec::with_capacity(n * n);
        let mut codes = Vec::with_capacity(n * (n - 1));
        for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let ns = self.time(row, column);
            points.push(ns.map_or(0, |ns| 1 + (self.position(ns) * 254.0) as u8));
            if column > row {
                let code = ns.map_or(0, |ns| 1 + ((ns / least).ln() / step).round() as u16);
                codes.extend_from_slice(&code.to_le_bytes());
            }
        }
        let is_large = size == Size::Large;
        let codes = is_large.then(|| STANDARD.encode(codes));
        let names = is_large.then(|| (0..n).map(|place| self.label(place)).collect::<Vec<_>>().join("|"));
        html! {
            image x=(px(self.left)) y=(px(TOP)) width=(px(self.side)) height=(px(self.side)) style="image-rendering:pixelated"
                preserveAspectRatio="none" href=(format!("data:image/png;base64,{}", STANDARD.encode(png(n, &points))))
                data-codes=[codes] data-low=(least) data-step=(step) data-names=[names] {}
        }
    }

    /// Lines between groups, wider ones thicker, with their names when pointed at.
    fn bounds(&self) -> Markup {
        let (left, side) = (self.left, self.side);
        html! { @for (depth, level) in self.order.levels.iter().enumerate() {
            @let width = if level.cuts.len() > 8 { 0.5 } else { [2.5, 1.5].get(depth).copied().unwrap_or(0.8) };
            @let path: String = level.cuts.iter().map(|&cut| {
                let at = cut as f64 / self.n as f64 * side;
                format!("M{} {}v{}M{} {}h{}", px(left + at), px(TOP), px(side), px(left), px(TOP + at), px(side))
            }).collect();
            path d=(path) stroke="#fff" stroke-width=(width) fill="none" { title { (level.name) } }
        } }
    }

    /// The colours from near to far with the times at which they stand.
    fn legend(&self, top: f64) -> Markup {
        let (low, high) = self.ends;
        if self.is_flat() {
            return html! { text x=(px(self.left)) y=(px(top + 10.0)) { "all " (words::number(low)) " ns" } };
        }
        let step = self.side / STEPS as f64;
        html! {
            @for i in 0..STEPS {
                rect x=(px(self.left + step * i as f64)) y=(px(top)) width=(px(step + 0.3)) height="8"
                    fill=(css(of_distance(i as f64 / (STEPS - 1) as f64))) {}
            }
            @for (ns, text) in ticks::logarithmic(low, high) {
                text x=(px(self.left + self.position(ns) * self.side)) y=(px(top + 20.0)) text-anchor="middle" { (text) }
            }
            text x=(px(self.left - 6.0)) y=(px(top + 20.0)) text-anchor="end" { "ns" }
        }
    }
}

fn css([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Letters that can be read on a colour.
fn on([red, green, blue]: Rgb) -> &'static str {
    let light = 0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue);
    if light > 120.0 { "#000" } else { "#fff" }
}

/// A picture of `n` rows whose points are numbers of colours; 0 is transparent.
fn png(n: usize, points: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, n as u32, n as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    let colours = (0..255u8).flat_map(|at| of_distance(f64::from(at) / 254.0));
    encoder.set_palette([0, 0, 0].into_iter().chain(colours).collect::<Vec<u8>>());
    encoder.set_trns(vec![0u8]);
    // Writing to memory fails only where the picture's size is wrong, and that is ours.
    let mut writer = encoder.write_header().expect("a picture's head is written to memory");
    writer.write_image_data(points).expect("as many points as the head says");
    drop(writer);
    bytes
}

/// Where names stand: at each of a few CPUs, else where groups begin as long as they leave room, else in even steps.
fn names(matrix: &Matrix, order: &Order) -> Vec<(usize, String)> {
    let n = order.cells.len();
    let places: Vec<usize> = match order.levels.iter().rev().find(|level| level.cuts.len() < 16) {
        _ if n <= NAMED => (0..n).collect(),
        Some(level) => std::iter::once(0).chain(level.cuts.iter().copied()).collect(),
        None => (0..n).step_by(n.div_ceil(16)).collect(),
    };
    let name = |place: usize| {
        let label = &matrix.labels[order.cells[place]];
        // Without `CPU `, which the page says.
        (place, words::short(label.strip_prefix("CPU ").unwrap_or(label), 18))
    };
    places.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Home, PairMethod};

    use super::*;

    fn drawn(n: usize) -> String {
        let ns: Vec<f64> =
            (0..n * (n - 1) / 2).map(|i| if i == 3 { f64::NAN } else { 25.0 + (i % 90) as f64 }).collect();
        let measured = ns.len();
        let view = View { method: PairMethod::Turn, home: Home::A, ns, measured };
        let order = Order { name: "by number".into(), cells: (0..n).collect(), levels: Vec::new() };
        let matrix = Matrix {
            labels: (0..n).map(|cpu| format!("CPU {cpu}")).collect(),
            first_cpus: (0..n as u32).collect(),
            cpus_per_cell: 1,
            views: vec![view],
            orders: vec![order],
        };
        let map = Map { id: "m".into(), title: "M".into(), caption: String::new(), matrix };
        super::map(&map, 0, 0, Size::Large).unwrap().into_string()
    }

    #[test]
    fn few_cpus_have_boxes_with_figures_and_many_a_picture() {
        let two = drawn(2);
        assert!(two.contains(">25.0 ns<") && two.contains("CPU 0 and CPU 1: 25.0 ns"), "{two}");
        let many = drawn(192);
        assert!(many.contains("data:image/png") && !many.contains(" and CPU "), "{}", &many[..900]);
        assert!(many.len() < 150_000, "{}", many.len());
    }

    #[test]
    fn codes_hold_every_time_and_which_are_missing() {
        let many = drawn(64);
        let value = |name: &str| many.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap();
        let number = |name: &str| value(name).parse::<f64>().unwrap();
        let codes = STANDARD.decode(value("data-codes")).unwrap();
        assert_eq!(codes.len(), 64 * 63);
        let (low, step) = (number("data-low"), number("data-step"));
        for (i, pair) in codes.chunks(2).enumerate() {
            match u16::from_le_bytes([pair[0], pair[1]]) {
                0 => assert_eq!(i, 3),
                code => {
                    let ns = low * (f64::from(code - 1) * step).exp();
                    let expected = 25.0 + (i % 90) as f64;
                    assert!((ns / expected - 1.0).abs() < 1e-4, "{i}: {ns}");
                }
            }
        }
    }
}
