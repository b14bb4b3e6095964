//! The report as a whole: findings and a map first, then a section each, then the papers.

use coho_profile::published::{Paper, repeated};
use maud::{Markup, html};

use crate::part::{Body, Depth, Missing, Section};
use crate::render::html::{self as render, text};
use crate::render::svg::{self, Size};
use crate::sections::{self, machine, papers};
use crate::{Subject, compare, words};

/// The report on these profiles.
pub fn page(subjects: &[Subject]) -> String {
    let title = match subjects {
        [only] => format!("coho: {}", words::short(&machine::name(only), 80)),
        several => format!("coho: {}", words::count(several.len(), "profile")),
    };
    let body = html! {
        @if let [only] = subjects { (head(only)) }
        @else { header { h1 { (words::count(subjects.len(), "profile")) " side by side" } } }
        main {
            @if subjects.len() > 1 {
                section id="findings" aria-label="Findings" {
                    @for subject in subjects {
                        h2 { (words::short(&subject.label, 80)) }
                        (findings(subject))
                    }
                }
                section id="comparison" {
                    h2 { "Comparison" }
                    (render::parts(&compare::compare(subjects).parts(), "comparison"))
                }
            }
            @for (index, subject) in subjects.iter().enumerate() { (profile(index, subject, subjects.len() > 1)) }
        }
        footer {
            p { "Times are medians; an interval in parentheses is the median's 95 % interval, one in brackets the range of n samples, "
                "which are too few for that. An interval of three passes or more also allows for what differs between passes, and so for a run \
                right after on a machine that is as it was; one of fewer holds for its own run. Made by coho " (env!("CARGO_PKG_VERSION")) "." }
            (bibliography())
        }
    };
    render::document(&title, &body)
}

/// Papers as wholes, each table and figure beside this profile's.
pub fn papers_page(subject: &Subject, papers: &[&'static Paper]) -> String {
    let title = match papers {
        [only] => format!("coho: {}", only.cited()),
        several => format!("coho: {}", words::count(several.len(), "paper")),
    };
    let body = html! {
        (head(subject))
        main { @for paper in papers {
            section id=(paper.name) {
                h2 { (paper.cited()) }
                p.sub { (paper.all_authors) ": " cite { (paper.title) } }
                (render::parts(&papers::whole(paper, subject), paper.name))
            }
        } }
        footer { p { "Made by coho " (env!("CARGO_PKG_VERSION")) "." } }
    };
    render::document(&title, &body)
}

fn head(subject: &Subject) -> Markup {
    html! { header {
        h1 { (words::short(&machine::name(subject), 100)) }
        p.sub { (machine::circumstances(subject).join(" · ")) }
        @if let Some(older) = machine::older(subject) { p.sub { (words::sentence(&older)) "." } }
    } }
}

fn findings(subject: &Subject) -> Markup {
    let findings = &subject.answers.findings;
    html! {
        @if findings.is_empty() { p.missing { (words::NO_FINDING) } }
        @else {
            @let (brief, others): (Vec<_>, Vec<_>) = findings.iter().partition(|one| !one.brief.is_empty());
            @if let Some(verdict) = &subject.answers.on_claims { p.sub { b { "Topology: " } (verdict) "." } }
            ul.findings { @for one in brief { (render::finding(one)) } }
            @if !others.is_empty() {
                details {
                    summary { (words::count(others.len(), "more finding")) }
                    ul.findings { @for one in others { (render::finding(one)) } }
                }
            }
        }
    }
}

fn profile(index: usize, subject: &Subject, several: bool) -> Markup {
    let sections = sections::of(subject);
    let papers = papers::of(subject);
    let id = format!("s{index}");
    html! {
        div id=(id) {
            @if several { h2 { (words::short(&subject.label, 80)) @if subject.published { " (published)" } } }
            @if !several {
                div.top {
                    section id="findings" aria-label="Findings" { (findings(subject)) }
                    (map(&sections))
                }
            }
            @if !several { (glance(&sections, &id)) }
            @if !sections.is_empty() { h2 { "What was measured" } }
            div.measured { @for section in &sections { (folded(section, &id)) } }
            @if !papers.is_empty() {
                h2 { "Beside the papers" }
                @for paper in &papers { (folded(paper, &id)) }
            }
            (missing(subject, &sections, &id))
        }
    }
}

/// The charts that sections want to be looked at first, each leading to its section.
fn glance(sections: &[Section], id: &str) -> Markup {
    let charts = sections.iter().flat_map(|section| section.parts.iter().map(move |part| (section.id, part)));
    let charts = charts.filter(|(_, part)| part.depth == Depth::Glance);
    let charts: Vec<_> = charts
        .filter_map(|(section, part)| match &part.body {
            Body::Chart(chart) => Some((section, chart)),
            _ => None,
        })
        .take(GLANCED)
        .collect();
    html! { @if !charts.is_empty() {
        h2 { "At a glance" }
        div.glance { @for (section, chart) in charts { figure {
            (render::drawn(chart))
            figcaption { a href=(format!("#{id}-{section}")) { (words::short(&chart.title, 100)) } }
        } } }
    } }
}

/// Charts at the head, at most.
const GLANCED: usize = 8;

/// A section under its headline.
fn folded(section: &Section, id: &str) -> Markup {
    let id = format!("{id}-{}", section.id);
    html! {
        details.section id=(id) {
            summary {
                b { (words::short(section.title, 120)) }
                span { (words::short(&section.headline, 600)) }
                span { (render::summary_counts(&section.parts)) }
            }
            div.inside { (render::parts(&section.parts, &id)) }
        }
    }
}

/// The first map of a profile, small, and if it leaves room the first drawing.
fn map(sections: &[Section]) -> Markup {
    let bodies = || sections.iter().flat_map(|section| &section.parts).map(|part| &part.body);
    let map = bodies().find_map(|body| if let Body::Map(map) = body { Some(map) } else { None });
    let is_small = map.is_none_or(|map| map.matrix.labels.len() <= ROOMY);
    let drawing =
        bodies().find_map(|body| if let Body::Drawing(drawing) = body { Some(drawing) } else { None });
    html! { div {
        @if let Some(map) = map {
            @let order = map.matrix.orders.len().saturating_sub(1);
            @if let Some(drawn) = svg::map(map, 0, order, Size::Small) {
                figure { (drawn) (render::caption(&map.title, &map.caption)) }
            }
        }
        @if let Some(drawing) = drawing.filter(|_| is_small) {
            figure { (svg::drawing(drawing, ASIDE)) figcaption { b { (words::short(&drawing.title, 100)) "." } } }
        }
    } }
}

/// Up to this many CPUs, there is room for a drawing beside the findings, of this width.
const ROOMY: usize = 16;
const ASIDE: f64 = 320.0;

/// What was not measured, in one line; the reasons are folded.
fn missing(subject: &Subject, sections: &[Section], id: &str) -> Markup {
    let absent = sections::missing(sections);
    let parts = sections.iter().flat_map(|section| section.parts.iter().map(|part| (section.id, &part.body)));
    let reasons: Vec<(&str, &Missing)> = parts
        .filter_map(|(id, body)| if let Body::Missing(missing) = body { Some((id, missing)) } else { None })
        .collect();
    html! {
        @if !absent.is_empty() && !subject.published {
            p.missing { "Not measured: " (absent.into_iter().map(words::mid_sentence).collect::<Vec<_>>().join("; ")) "." }
        }
        @if !reasons.is_empty() {
            details.section id=(format!("{id}-missing")) {
                summary { b { "Not available" } span { (words::count(reasons.len(), "figure")) " that could not be measured here, and \
                                                                                                why" } }
                div.inside { div.scroll tabindex="0" { table.facts { tbody { @for (id, missing) in &reasons {
                    tr { th scope="row" { (id) } td { (text(&missing.what)) } td { (text(&missing.why)) } }
                } } } } }
            }
        }
    }
}

fn bibliography() -> Markup {
    html! {
        details { summary { "The papers" }
            ol { @for paper in repeated() {
                li { (paper.all_authors) ": " cite { (paper.title) } ", " (paper.year) "." }
            } }
        }
    }
}
