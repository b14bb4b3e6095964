//! The sections that every profile has in the page, and the one that is made of several charts.

use maud::{Markup, html};

use super::charts::{self, Chart};
use super::subject::Subject;
use super::{classes, stability, text};

/// Name in links and heading, in order.
pub const ALL: [(&str, &str); 10] = [
    ("host", "Host"),
    ("topology", "Topology"),
    ("pairs", "Pairs of CPUs"),
    ("classes", "Classes"),
    ("reads", "Reads by state"),
    ("cpi", "Cost in CPI"),
    ("stability", "Stability"),
    ("audit", "Audit of the claims"),
    ("missing", "Not available"),
    ("method", "Method"),
];

/// Samples over time, if one pair was watched; else the pairs that jumped.
pub fn stability(subject: &Subject, mut figure: impl FnMut(Chart, &Markup) -> Markup, id: String) -> Markup {
    let Some(coherence) = subject.coherence() else {
        return html! { p.missing { "Not measured: the profile has no section coherence." } };
    };
    if subject.published {
        return html! { p.missing { "Not available: the paper tells one value a pair." } };
    }
    let timeline = coherence.timeline.as_ref().map(|timeline| {
        let samples = stability::samples(timeline);
        let caption = html! {
            strong { "CPUs " (timeline.a) " and " (timeline.b) " watched, " (classes::method_name(timeline.method)) ". " }
            "A point is the median of a sample's batches; n = " (timeline.samples.len()) " samples"
            @if samples.len() < timeline.samples.len() { ", drawn by medians of runs" } ". "
            @if timeline.change_points_s.is_empty() { "The figure did not change for good. " }
            @else { "Dashed: when the figure changed for good (" (text::count(timeline.change_points_s.len(), "time")) "). " }
            @if timeline.modes.len() > 1 {
                "Dotted: the values between which it jumped: "
                @for (i, mode) in timeline.modes.iter().take(8).enumerate() {
                    @if i > 0 { ", " } (text::number(mode.value)) " ns (" (text::number(mode.share * 100.0)) " % of samples)"
                }
                ". On a virtual machine the host moves CPUs."
            } @else { "It kept to one value." }
        };
        figure(charts::timeline(id.clone(), timeline, &samples), &caption)
    });
    let (jumpers, beyond) = stability::jumpers(subject);
    let jumps = (!jumpers.is_empty()).then(|| {
        let caption = html! {
            strong { "Pairs that jumped between values. " }
            "Each point is a value that a pair's batches gathered about, the larger the more often it was seen; widest jumps first. "
            @if beyond > 0 { (beyond) " more pairs jumped, by less. " }
        };
        figure(charts::modes(format!("{id}-modes"), &jumpers), &caption)
    });
    html! {
        @if let Some(timeline) = &timeline { (timeline) }
        @else { p.missing { "No pair was watched over time." } }
        @if let Some(jumps) = &jumps { (jumps) }
        @else if coherence.pairs.is_empty() { p.missing { "No pairs were measured." } }
        @else { p { "No pair jumped between values: each kept to one in all passes." } }
    }
}
