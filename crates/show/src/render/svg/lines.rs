//! Lines and points over two axes.

use maud::{Markup, html};

use super::axes::Placed;
use super::frame::{self, PLOT_HEIGHT};
use super::px;
use crate::chart::{Chart, Point, Series, Stroke};

/// A point of a longer line is drawn without a circle of its own: it would be all circles.
const CIRCLED: usize = 64;

pub(super) fn lines(chart: &Chart, series: &[Series]) -> Markup {
    let points = || series.iter().flat_map(|one| &one.points);
    let xs: Vec<f64> = points().map(|point| point.x).chain(frame::marked(chart, false)).collect();
    let ys = points().map(|point| (point.y, point.interval));
    let ys = frame::within_reach(&chart.y, ys.chain(frame::marked(chart, true).map(|mark| (mark, None))));
    let (space, x, y) = frame::axes(chart, &xs, &ys, PLOT_HEIGHT);
    let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    let inside = html! { @for one in series { (line(one, &x, &y)) } };
    frame::chart(chart, space, (&x, Some(&y)), &names, |at, x, y| sample(&series[at], x, y), &inside)
}

fn line(series: &Series, x: &Placed, y: &Placed) -> Markup {
    let colour = series.colour.css();
    let published = series.stroke == Stroke::Published;
    let points: Vec<&Point> =
        series.points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
    let place = |(i, point): (usize, &&Point)| {
        format!("{}{} {}", if i == 0 { "M" } else { "L" }, px(x.at(point.x)), px(y.at(point.y)))
    };
    let path: String = points.iter().enumerate().map(place).collect();
    let dashes = dashes(series.stroke);
    let radius = match (series.stroke, points.len()) {
        (Stroke::Points, 200..) => 1.6,
        (Stroke::Points, _) => 2.6,
        _ => 3.4,
    };
    let circled = points.len() <= CIRCLED || series.stroke == Stroke::Points;
    let interval = |point: &&Point| Some(frame::interval(true, x.at(point.x), y, point.interval?));
    let intervals: String = points.iter().filter_map(interval).collect();
    html! {
        @if series.stroke != Stroke::Points && points.len() > 1 {
            path d=(path) stroke=(colour) stroke-width=(if published { 1.6 } else { 2.2 }) fill="none" stroke-linejoin="round"
                stroke-dasharray=[dashes] { title { (series.name) } }
        }
        @if circled {
            (frame::intervals(&intervals, series.colour))
            g fill=(if published { "none" } else { colour }) stroke=(colour) { @for point in &points {
                circle cx=(px(x.at(point.x))) cy=(px(y.at(point.y))) r=(radius) { title { (point.hover) } }
            } }
        }
    }
}

fn dashes(stroke: Stroke) -> Option<&'static str> {
    match stroke {
        Stroke::Solid | Stroke::Points => None,
        Stroke::Dashed => Some("7 4"),
        Stroke::Published => Some("2 3"),
    }
}

/// A line and a point for the legend.
fn sample(series: &Series, x: f64, y: f64) -> Markup {
    let (stroke, colour) = (series.stroke, series.colour.css());
    let fill = if stroke == Stroke::Published { "none" } else { colour };
    html! {
        @if stroke != Stroke::Points {
            path d=(format!("M{} {}h24", px(x), px(y))) stroke=(colour) stroke-width="2.2" stroke-dasharray=[dashes(stroke)] {}
        }
        circle cx=(px(x + 12.0)) cy=(px(y)) r="3.4" fill=(fill) stroke=(colour) {}
    }
}
