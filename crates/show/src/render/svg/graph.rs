//! Points on a circle and the lines between them as an SVG.

use std::f64::consts::TAU;

use maud::{Markup, html};

use super::{px, text_width};
use crate::chart::{Edge, Graph};

/// Up to so many lines, each has its label.
const LABELLED: usize = 28;
/// Between a point's name and its box's edge.
const PAD: f64 = 8.0;
const BOX_HEIGHT: f64 = 26.0;
/// The least and the most that a circle is wide; it grows with its points.
const SMALLEST: f64 = 240.0;
const LARGEST: f64 = 620.0;
const EACH_POINT: f64 = 50.0;

/// A graph, at most `width` CSS pixels wide.
pub fn graph(graph: &Graph, width: f64) -> Markup {
    let widest = graph.nodes.iter().map(|name| text_width(name)).fold(0.0, f64::max);
    let box_width = widest + 2.0 * PAD;
    let size = (EACH_POINT * graph.nodes.len() as f64).clamp(SMALLEST, LARGEST).min(width);
    let (across, down) = ((size - box_width) / 2.0 - 1.0, (size - BOX_HEIGHT) / 2.0 - 1.0);
    let at = |node: usize| {
        // The first at the top, the others clockwise.
        let angle = TAU * (node as f64 / graph.nodes.len() as f64 - 0.25);
        (size / 2.0 + across * angle.cos(), size / 2.0 + down * angle.sin())
    };
    let known = |edge: &&Edge| edge.ends.0.max(edge.ends.1) < graph.nodes.len();
    // Links lie over the other lines.
    let lines = |is_link: bool| graph.edges.iter().filter(known).filter(move |edge| edge.is_link == is_link);
    let is_labelled = graph.edges.len() <= LABELLED;
    html! {
        svg class="graph" viewBox=(format!("0 0 {} {}", px(size), px(size))) width=(px(size)) height=(px(size)) role="img"
            aria-label=(graph.title) font-family="system-ui, sans-serif" font-size="12" fill="currentColor" {
            @for edge in lines(false).chain(lines(true)) { (line(edge, at(edge.ends.0), at(edge.ends.1))) }
            @if is_labelled {
                @for edge in lines(false).chain(lines(true)) { (label(edge, at(edge.ends.0), at(edge.ends.1))) }
            }
            @for (number, name) in graph.nodes.iter().enumerate() {
                @let (x, y) = at(number);
                g {
                    rect x=(px(x - box_width / 2.0)) y=(px(y - BOX_HEIGHT / 2.0)) width=(px(box_width)) height=(px(BOX_HEIGHT))
                        rx="5" class="node" fill="#e9edf3" stroke="currentColor" stroke-opacity=".6" {}
                    text x=(px(x)) y=(px(y + 4.0)) text-anchor="middle" fill="#1c1e21" { (name) }
                }
            }
        }
    }
}

fn line(edge: &Edge, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    html! {
        line x1=(px(x1)) y1=(px(y1)) x2=(px(x2)) y2=(px(y2)) stroke="currentColor"
            stroke-width=(if edge.is_link { "2.4" } else { "1" }) stroke-opacity=(if edge.is_link { ".9" } else { ".5" })
            stroke-dasharray=[(!edge.is_link).then_some("4 4")] { title { (edge.hover) } }
    }
}

/// A line's label, nearer to its second end: lines of one point spread there, and lines across do not all meet in the middle.
fn label(edge: &Edge, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    let along = |from: f64, to: f64| from + (to - from) * 0.62;
    let (x, y) = (along(x1, x2), along(y1, y2));
    let width = text_width(&edge.label);
    html! {
        g font-size="11" {
            rect x=(px(x - width / 2.0)) y=(px(y - 8.0)) width=(px(width)) height="15" rx="3" fill="#fff" fill-opacity=".85" {}
            text x=(px(x)) y=(px(y + 4.0)) text-anchor="middle" fill="#1c1e21" { (edge.label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_and_line_lies_within_the_picture_and_what_is_written_is_escaped() {
        for points in [3_usize, 8, 40] {
            let edge = |to: usize| Edge {
                ends: (0, to),
                label: "<1> ns".into(),
                hover: "<P0>".into(),
                is_link: to.is_multiple_of(2),
            };
            let nodes = (0..points).map(|one| format!("P{one}")).collect();
            let edges = (1..points + 1).map(edge).collect();
            let (id, title) = ("g".to_owned(), "links".to_owned());
            let drawn =
                graph(&Graph { id, title, caption: String::new(), nodes, edges }, 400.0).into_string();
            assert_eq!(drawn.matches("<line ").count(), points - 1, "a line to no point is left out");
            assert_eq!(drawn.matches("class=\"node\"").count(), points);
            assert_eq!(drawn.matches("stroke-dasharray").count(), points / 2);
            assert!(!drawn.contains("<1>") && !drawn.contains("<P0>"));
            for at in ["x1", "y1", "x2", "y2", "x", "y"] {
                for value in drawn.split(&format!(" {at}=\"")).skip(1) {
                    let value: f64 = value.split('"').next().unwrap().parse().unwrap();
                    assert!((0.0..=400.0).contains(&value), "{at} {value} of {points}");
                }
            }
        }
    }
}
