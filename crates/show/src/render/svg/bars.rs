//! Bars: groups by category, and histograms.

use maud::{Markup, html};

use super::axes::Placed;
use super::frame::{self, PLOT_HEIGHT, Space};
use super::px;
use crate::chart::{Bar, BarSeries, Bin, Chart, Colour};
use crate::words;

/// The thickness of a bar, and what is free between two groups.
const BAR: f64 = 15.0;
const BETWEEN: f64 = 9.0;
/// Letters of a category's name at most.
const NAME: usize = 34;

pub(super) fn bars(chart: &Chart, categories: &[String], series: &[BarSeries]) -> Markup {
    let names: Vec<String> = categories.iter().map(|name| words::short(name, NAME)).collect();
    let group = series.len() as f64 * BAR + BETWEEN;
    let room = frame::room_of(names.iter());
    let space = Space::new(room, group * categories.len() as f64 + BETWEEN);
    let bars = series.iter().flat_map(|one| one.bars.iter().flatten());
    let values =
        bars.map(|bar| (bar.value, bar.interval)).chain(frame::marked(chart, false).map(|mark| (mark, None)));
    let values = frame::within_reach(&chart.x, values);
    let x = Placed::of(&chart.x, &values, space.left, space.right);
    let in_legend: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    let sample = |at: usize, left: f64, y: f64| sample(&series[at], x.is_from_zero(), left, y);
    let inside = html! {
        @for (index, name) in names.iter().enumerate() {
            @let top = space.top + BETWEEN + group * index as f64;
            text x=(px(space.left - 6.0)) y=(px(top + (group - BETWEEN) / 2.0 + 4.0)) text-anchor="end" {
                title { (categories[index]) } (name)
            }
            @for (place, one) in series.iter().enumerate() {
                @if let Some(bar) = one.bars.get(index).and_then(Option::as_ref) {
                    (self::bar(bar, one, &x, top + BAR * place as f64))
                }
            }
        }
    };
    frame::chart(chart, space, (&x, None), &in_legend, sample, &inside)
}

/// A bar from zero; where the axis has none, a dot, since a bar's length would mean nothing.
fn bar(bar: &Bar, series: &BarSeries, x: &Placed, top: f64) -> Markup {
    let colour = series.colour.css();
    let (begin, end, middle) = (x.from_px, x.at(bar.value), top + BAR / 2.0);
    let opacity = if series.published { ".45" } else { "1" };
    html! {
        @if x.is_from_zero() {
            rect x=(px(begin)) y=(px(top + 1.0)) width=(px((end - begin).max(0.8))) height=(px(BAR - 2.0)) fill=(colour)
                fill-opacity=(opacity) stroke=(colour) stroke-dasharray=[series.published.then_some("2 2")] { title { (bar.hover) } }
        } @else {
            path d=(format!("M{} {}H{}", px(begin), px(middle), px(end))) stroke=(colour) stroke-opacity=".25" {}
            circle cx=(px(end)) cy=(px(middle)) r="4.5" fill=(if series.published { "none" } else { colour }) stroke=(colour) {
                title { (bar.hover) }
            }
        }
        @if let Some(ends) = bar.interval {
            (frame::intervals(&frame::interval(false, middle, x, ends), if x.is_from_zero() { Colour::GREY } else { series.colour }))
        }
    }
}

/// A bar or a dot for the legend.
fn sample(series: &BarSeries, is_bar: bool, x: f64, y: f64) -> Markup {
    let (colour, published) = (series.colour.css(), series.published);
    html! {
        @if is_bar {
            rect x=(px(x + 6.0)) y=(px(y - 6.0)) width="18" height="12" fill=(colour) fill-opacity=[published.then_some(".45")]
                stroke=[published.then_some(colour)] stroke-dasharray=[published.then_some("2 2")] {}
        } @else {
            circle cx=(px(x + 15.0)) cy=(px(y)) r="4.5" fill=(if published { "none" } else { colour }) stroke=(colour) {}
        }
    }
}

/// How often values lie between two bounds.
pub(super) fn histogram(chart: &Chart, bins: &[Bin]) -> Markup {
    let values: Vec<f64> = bins.iter().flat_map(|bin| [bin.from, bin.to]).collect();
    let counts: Vec<f64> = bins.iter().map(|bin| bin.count as f64).chain([0.0]).collect();
    let (space, x, y) = frame::axes(chart, &values, &counts, PLOT_HEIGHT * 0.75);
    let inside = html! {
        @for bin in bins.iter().filter(|bin| bin.count > 0) {
            @let (left, right, top) = (x.at(bin.from), x.at(bin.to), y.at(bin.count as f64));
            rect x=(px(left)) y=(px(top)) width=(px((right - left - 0.6).max(1.0))) height=(px(space.bottom - top))
                fill=(bin.colour.css()) { title { (bin.hover) } }
        }
    };
    frame::chart(chart, space, (&x, Some(&y)), &[], |_, _, _| html! {}, &inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Axis;

    fn drawn(axis: Axis) -> String {
        let bar = |value: f64| {
            let interval = Some((value * 0.9, value * 1.1));
            Some(Bar { value, interval, hover: format!("<{value}> ns") })
        };
        let bars = || [bar(10.0), bar(400.0), None];
        let series = vec![
            BarSeries::new("here", Colour::nth(0), bars()),
            BarSeries::new("paper", Colour::nth(0), bars()).published(true),
        ];
        let categories = vec!["fbs".into(), "x".repeat(90), "none".into()];
        super::super::chart(&Chart::bars("bars", "Bars", axis, categories, series)).into_string()
    }

    #[test]
    fn bars_grow_from_zero_and_logarithmic_axes_have_dots() {
        let linear = drawn(Axis::linear("ns"));
        assert_eq!(linear.matches("&lt;10&gt; ns").count(), 2, "{linear}");
        assert!(!linear.contains("<circle"), "{linear}");
        let log = drawn(Axis::log("ns"));
        assert_eq!(log.matches("<circle").count(), 4 + 2, "four bars and two samples: {log}");
        assert!(linear.contains(&format!(">{}…<", "x".repeat(NAME - 1))), "a long name is cut: {linear}");
    }
}
