//! Boxes within boxes as an SVG, laid out for a width.

use maud::{Markup, html};

use super::px;
use crate::boxes::Node;
use crate::chart::Drawing;

const PAD: f64 = 6.0;
const GAP: f64 = 4.0;
const HEAD: f64 = 17.0;
/// Width of a letter of the label's size (11 px), generously.
const LETTER: f64 = 6.2;
/// How much wider than high boxes may be; the drawing takes what makes it lowest.
const ASPECTS: [f64; 6] = [0.4, 0.7, 1.2, 2.0, 3.2, 5.0];

/// Width of a digit of the innermost boxes' size (10 px).
const DIGIT: f64 = 5.7;

/// A box with its place.
struct Placed<'a> {
    node: &'a Node,
    width: f64,
    height: f64,
    /// Children relative to this box's corner.
    children: Vec<(f64, f64, Placed<'a>)>,
}

/// Boxes with their places, and how wide and high they are together.
type LaidOut<'a> = (Vec<(f64, f64, Placed<'a>)>, f64, f64);

/// At most `width` CSS pixels wide where labels allow it.
fn lay_out(drawing: &Drawing, width: f64) -> Option<LaidOut<'_>> {
    let lay_out = |aspect: f64| {
        let placed: Vec<Placed<'_>> = drawing.nodes.iter().map(|node| place(node, width, aspect)).collect();
        grid(placed, width, 0.0, f64::INFINITY, GAP)
    };
    ASPECTS.into_iter().map(lay_out).min_by(|a, b| a.2.total_cmp(&b.2))
}

/// How many CSS pixels of this width a drawing takes.
pub fn width_of(drawing: &Drawing, width: f64) -> f64 {
    lay_out(drawing, width).map_or(0.0, |(_, width, _)| width)
}

/// Boxes within boxes, at most `width` CSS pixels wide where labels allow it.
pub fn drawing(drawing: &Drawing, width: f64) -> Markup {
    let Some((children, inner_width, height)) = lay_out(drawing, width) else { return html! {} };
    let (width, height) = (inner_width.ceil() + 1.0, height.ceil() + 1.0);
    html! {
        svg class="boxes" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img" aria-label=(drawing.title)
            font-family="system-ui, sans-serif" font-size="11" fill="currentColor"
            stroke="currentColor" stroke-opacity=".45" stroke-width=".7" {
            @for (x, y, child) in &children { (group(child, x + 0.5, y + 0.5)) }
        }
    }
}

fn place(node: &Node, cap: f64, aspect: f64) -> Placed<'_> {
    let letters = node.label.chars().count() as f64;
    if node.children.is_empty() {
        let width = (letters * DIGIT + 5.0).max(18.0);
        return Placed { node, width, height: 20.0, children: Vec::new() };
    }
    let head = if node.label.is_empty() { PAD / 2.0 } else { HEAD };
    // The threads of a core stand side by side and close.
    let (pad, gap, aspect_here) = match node.kind {
        "core" => (PAD / 2.0, GAP / 2.0, f64::INFINITY),
        _ => (PAD, GAP, aspect),
    };
    let inner = cap - 2.0 * pad;
    let children = node.children.iter().map(|child| place(child, inner, aspect)).collect();
    let least = (letters * LETTER + PAD).min(cap) - 2.0 * pad;
    let (mut children, width, height) = grid(children, inner, least, aspect_here, gap);
    for (x, y, _) in &mut children {
        *x += pad;
        *y += head;
    }
    Placed { node, width: width + 2.0 * pad, height: head + height + pad, children }
}

/// Puts boxes in rows of equal cells, as many a row as come nearest to the aspect within the width.
fn grid(
    boxes: Vec<Placed<'_>>,
    cap: f64,
    least: f64,
    aspect: f64,
    gap: f64,
) -> (Vec<(f64, f64, Placed<'_>)>, f64, f64) {
    let cell = boxes.iter().fold((0.0f64, 0.0f64), |cell, b| (cell.0.max(b.width), cell.1.max(b.height)));
    let size = |columns: usize| {
        let rows = boxes.len().div_ceil(columns);
        let length = |n: usize, one: f64| n as f64 * (one + gap) - gap;
        (length(columns, cell.0), length(rows, cell.1))
    };
    let most = (((cap + gap) / (cell.0 + gap)).floor() as usize).clamp(1, boxes.len().max(1));
    let unlike = |columns: &usize| {
        let (width, height) = size(*columns);
        // A last row that is half empty is ugly: it counts like a bad aspect.
        let empty = columns * boxes.len().div_ceil(*columns) - boxes.len();
        (width / height / aspect.min(1e6)).ln().abs() + 3.0 * empty as f64 / *columns as f64
    };
    let columns = (1..=most).min_by(|a, b| unlike(a).total_cmp(&unlike(b))).unwrap_or(1);
    let (width, height) = size(columns);
    let stretch = ((least - width) / columns as f64).max(0.0);
    let step = (cell.0 + stretch + gap, cell.1 + gap);
    let placed = boxes.into_iter().enumerate().map(|(i, one)| {
        let (x, y) = ((i % columns) as f64 * step.0, (i / columns) as f64 * step.1);
        (x, y, Placed { width: cell.0 + stretch, height: cell.1, ..one })
    });
    (placed.collect(), width.max(least), height)
}

fn group(placed: &Placed<'_>, x: f64, y: f64) -> Markup {
    let node = placed.node;
    let is_leaf = placed.children.is_empty();
    let (text_x, text_y) = match is_leaf {
        true => (x + placed.width / 2.0, y + placed.height / 2.0 + 4.0),
        false => (x + PAD, y + 12.0),
    };
    html! {
        g class=(node.kind) {
            title { (node.title) }
            rect x=(px(x)) y=(px(y)) width=(px(placed.width)) height=(px(placed.height)) rx=(if is_leaf { 3 } else { 5 })
                fill-opacity=(shade(node.kind)) {}
            @if !node.label.is_empty() {
                text stroke="none" x=(px(text_x)) y=(px(text_y)) text-anchor=[is_leaf.then_some("middle")]
                    font-size=[is_leaf.then_some("10")] { (node.label) }
            }
            @for (dx, dy, child) in &placed.children { (group(child, px(x + dx), px(y + dy))) }
        }
    }
}

/// How dark a box is by itself: each lies in its parent's shade.
fn shade(kind: &str) -> &'static str {
    match kind {
        "pu" => "0",
        "pu marked" => ".25",
        "core" => ".02",
        _ => ".05",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &'static str, label: impl Into<String>, children: impl Iterator<Item = Node>) -> Node {
        let title = "<CPU> \"0\"".into();
        Node { kind, label: label.into(), title, children: children.collect() }
    }

    #[test]
    fn a_drawing_keeps_to_its_width_and_escapes_what_it_writes() {
        let pu = |cpu: u32| node("pu", cpu.to_string(), std::iter::empty());
        let l3 = |n: u32| node("l3", "L3 32 MiB", (0..16).map(|cpu| pu(n * 16 + cpu)));
        let nodes = vec![node("package", "package 0", (0..16).map(l3))];
        let package = Drawing { id: "d".into(), title: "boxes".into(), caption: String::new(), nodes };
        for width in [340.0, 1000.0] {
            let drawing = drawing(&package, width).into_string();
            let ends = drawing.split("<rect ").skip(1).map(|rect| {
                let value = |name: &str| -> f64 {
                    let after = rect.split(&format!(" {name}=\"")).nth(1).unwrap();
                    after.split('"').next().unwrap().parse().unwrap()
                };
                value("x") + value("width")
            });
            let right = ends.fold(0.0, f64::max);
            assert!((0.5 * width..=width + 1.0).contains(&right), "{right} in {width}");
            assert_eq!(drawing.matches("class=\"pu\"").count(), 256);
            assert!(!drawing.contains("<CPU>"));
        }
    }
}
