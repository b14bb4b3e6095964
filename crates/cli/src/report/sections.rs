//! The sections that every profile has in the page, and the one that is made of several charts.

use coho_model::stability as stability_of;
use coho_profile::{Pair, Verdict};
use maud::{Markup, PreEscaped, html};

use super::charts::{self, Chart};
use super::encode::Precision;
use super::matrix::Matrix;
use super::subject::Subject;
use super::{boxes, boxes_svg, classes, stability, text};

/// Widths, in CSS pixels, that the drawing of a topology is laid out for: a page and a phone.
const DRAWING_WIDTHS: [(&str, f64); 2] = [("wide", 1000.0), ("narrow", 340.0)];

/// Name in links and heading, in order.
pub const ALL: [(&str, &str); 20] = [
    ("host", "Host"),
    ("topology", "Topology"),
    ("pairs", "Pairs of CPUs"),
    ("classes", "Classes"),
    ("reads", "Reads by state"),
    ("contention", "Many CPUs on one line"),
    ("cpi", "Cost in CPI"),
    ("stability", "Stability"),
    ("audit", "Audit of the claims"),
    ("counters", "Counters"),
    ("calls", "Calls"),
    ("barriers", "Barriers, fork and join"),
    ("programs", "Programs under barriers"),
    ("memory", "Memory"),
    ("paths", "Transfer paths"),
    ("workloads", "Workloads under placements"),
    ("choices", "Commands under placements"),
    ("idle", "Idle states and waking"),
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
        let kept = timeline.kept_to_one_value();
        let caption = html! {
            strong { "CPUs " (timeline.a) " and " (timeline.b) " watched, " (classes::method_name(timeline.method)) ". " }
            "A point is the median of a sample's batches; n = " (timeline.samples.len()) " samples"
            @if samples.len() < timeline.samples.len() { ", drawn by medians of runs" } ". "
            @if kept.is_none() { "Too few samples to tell whether the figure changes. " }
            @else if timeline.change_points_s.is_empty() { "The figure did not change for good. " }
            @else { "Dashed: when the figure changed for good (" (text::count(timeline.change_points_s.len(), "time")) "). " }
            @if timeline.modes.len() > 1 {
                "Dotted: the values between which it jumped: "
                @for (i, mode) in timeline.modes.iter().take(8).enumerate() {
                    @if i > 0 { ", " } (text::number(mode.value)) " ns (" (text::number(mode.share * 100.0)) " % of samples)"
                }
                ". On a virtual machine, the host may have moved the CPUs."
            } @else if kept == Some(true) {
                "It kept to one value for " (text::number(timeline.samples.last().map_or(0.0, |last| last.at_s))) " s."
            }
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
        @else if coherence.times().next().is_none() { p.missing { "No pairs were measured." } }
        @else if coherence.stable.is_none() && !subject.published {
            p.missing { "Each pair has fewer than six samples: whether it keeps to one value is not known." }
        }
        @else if coherence.stable == Some(false) {
            p { "Passes disagree, but no pair had values that could be told apart." }
        }
        @else { p { "No pair had several values that could be told apart"
            @if let (Some(kept), Some(watched)) = (stability_of::kept(coherence), stability_of::watched(coherence)) { "; " (kept) ", " (watched) } "." } }
    }
}

/// What the figures say, in a sentence.
pub fn summary(subject: &Subject) -> Markup {
    let Some(coherence) = subject.coherence() else {
        return html! { p.verdict { "This profile has no section coherence: nothing on sharing lines was measured." } };
    };
    let verdict = match coherence.verdict {
        Some(Verdict::Hops) => {
            format!("The figures show {} of groups of CPUs.", text::count(coherence.levels.len(), "level"))
        }
        Some(Verdict::Flat) if coherence.is_one_pair() => {
            "One pair was measured, with none to compare it with.".to_owned()
        }
        Some(Verdict::Flat) => "All pairs are alike.".to_owned(),
        Some(Verdict::HomeBiased) => match coherence.levels.len() {
            0 => "The times depend on where the line lives; no level can be told from that.".to_owned(),
            n => format!(
                "The figures show {} of groups of CPUs; beyond, the times depend on where the line lives.",
                text::count(n, "level")
            ),
        },
        Some(Verdict::Unstable) => {
            "The figures jumped during the run; they hold only for a while.".to_owned()
        }
        None => "No verdict on the pairs stands in this profile.".to_owned(),
    };
    let watched = stability_of::watched(coherence).unwrap_or_default();
    let stable = match (subject.published, coherence.stable) {
        (true, _) | (_, None) => String::new(),
        (false, Some(true)) => stability_of::kept(coherence)
            .map_or_else(String::new, |kept| format!(" Stable: {kept}, {watched}.")),
        (false, Some(false)) => format!(" Not all kept to one value ({watched}): see stability."),
    };
    let contradictions = match coherence.contradictions.as_ref().map_or(0, Vec::len) {
        0 => String::new(),
        n => format!(" {} of the claimed topology.", text::count(n, "contradiction")),
    };
    html! {
        p.verdict { (verdict) (stable) (contradictions)
            @if coherence.method.interrupted { " The run was interrupted; this is what it had." }
        }
        @if !coherence.notes.is_empty() {
            ul.notes { @for note in coherence.notes.iter().take(20) { li { (text::short(note, 500)) } } }
        }
    }
}

/// The drawing of the claimed topology, with at most so many boxes of its finest level, and where sources disagree.
pub fn topology(subject: &Subject, most: usize) -> Markup {
    let Some(section) = &subject.profile.topology else {
        return html! { p.missing { "Not recorded in this profile." } };
    };
    let counts = &section.counts;
    let counted = [
        (counts.package, "package"),
        (counts.die, "die"),
        (counts.numa, "NUMA node"),
        (counts.l3, "L3"),
        (counts.module, "module"),
        (counts.core, "core"),
        (counts.pu, "PU"),
    ];
    let told =
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| text::count(count, name));
    let nodes = boxes::of(&section.topology, most);
    html! {
        (drawing(&nodes, &html! {
            strong { "The topology that the machine claims. " } (told.collect::<Vec<_>>().join(", "))
            ". Innermost boxes are PUs by operating-system number; point at a box for its name."
        }))
        @if !section.topology.notes.is_empty() {
            ul.notes { @for note in section.topology.notes.iter().take(20) { li { (text::short(note, 500)) } } }
        }
        @if !section.topology.disagreements.is_empty() {
            p { "Sources that disagree; the first is believed:" }
            ul { @for disagreement in section.topology.disagreements.iter().take(20) {
                li { (disagreement.level) ": "
                    @for (i, claim) in disagreement.claims.iter().enumerate() {
                        @if i > 0 { "; " } (claim.source) " says " (text::short(&claim.says, 200))
                    }
                }
            } }
        }
    }
}

/// Boxes within boxes, laid out for a page and for a phone.
pub fn drawing(nodes: &[boxes::Node], caption: &Markup) -> Markup {
    html! {
        figure.drawing {
            @for (class, width) in DRAWING_WIDTHS {
                div class=(class) { (PreEscaped(boxes_svg::draw(nodes, width))) }
            }
            figcaption { (caption) }
        }
    }
}

/// Switches of a heat map, where there is something to switch.
pub fn controls(id: &str, matrix: &Matrix, precisions: &[Option<Precision>]) -> Markup {
    let views: Vec<String> = matrix
        .views
        .iter()
        .zip(precisions)
        .filter(|(_, precision)| precision.is_some())
        .map(|(view, _)| view.name())
        .collect();
    let select = |name: &str, label: &str, options: &[String]| {
        html! { @if options.len() > 1 {
            label { (label) " "
                select data-heat=(id) data-switch=(name) {
                    @for (index, option) in options.iter().enumerate() { option value=(index) { (option) } }
                }
            }
        } }
    };
    let orders: Vec<String> = matrix.orders.iter().map(|order| order.name.clone()).collect();
    html! { div.controls { (select("view", "Method", &views)) (select("order", "Order of CPUs", &orders)) } }
}

/// The pairs as a table, for those who read figures and for small machines.
pub fn pair_table(subject: &Subject) -> Markup {
    const MOST: usize = 128;
    let pairs = subject.coherence().map(|coherence| coherence.pairs.as_slice()).unwrap_or_default();
    html! {
        details {
            summary { "Pairs as a table" @if pairs.len() > MOST { " (the first " (MOST) " of " (pairs.len()) ")" } }
            div.scroll { table.figures {
                thead { tr {
                    th scope="col" { "Pair" } th scope="col" { "Method" } th scope="col" { "Claimed" }
                    th scope="col" { "ns (95 % interval)" } th scope="col" { "n" }
                    th scope="col" { "changes of owner" } th scope="col" { "preempted" } th scope="col" { "one value?" }
                } }
                tbody { @for pair in pairs.iter().take(MOST) {
                    tr {
                        th scope="row" { (text::short(&subject.pair_label(pair), 80)) }
                        td { (classes::method_name(pair.method)) }
                        td { (text::short(pair.claimed.as_deref().unwrap_or("–"), 40)) }
                        td.number { (text::estimate(&pair.ns)) }
                        td.number { (pair.ns.n) }
                        td.number { (pair.ownership_changes_per_op.as_ref().map_or("–".to_owned(), text::estimate)) }
                        td.number { (pair.preempted_batches) }
                        td { @match pair.ns.stable.filter(|_| !subject.published) { Some(true) => { "yes" } Some(false) => { "no" } None => { "–" } } }
                    }
                } }
            } }
            (line_spreads(subject, pairs, MOST))
        }
    }
}

/// How far the time of a pair depends on the line that it shares, where that was measured.
fn line_spreads(subject: &Subject, pairs: &[Pair], most: usize) -> Markup {
    let measured: Vec<_> = pairs.iter().filter_map(|pair| Some((pair, pair.lines.as_ref()?))).collect();
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    html! { @if !measured.is_empty() {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Pair" } th scope="col" { "Home" } th scope="col" { "Lines" }
                th scope="col" { "10 to 90 % of the lines, by turn" } th scope="col" { "share of the variance" }
            } }
            tbody { @for (pair, lines) in measured.iter().take(most) {
                tr {
                    th scope="row" { (text::short(&subject.pair_label(pair), 80)) }
                    td { (classes::home_name(pair.home)) }
                    td.number { (lines.count) }
                    td { (text::line_spread(lines)) }
                    td.number { (lines.share.filter(|share| share.is_finite()).map_or("–".to_owned(), share)) }
                }
            } }
        } }
        p.note { "r: correlation of the lines' times in the two halves of the run. Share: how much of the variance of single visits is "
            "the lines'." }
    } }
}
