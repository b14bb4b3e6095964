//! Parts as markup.

use coho_model::{Finding, Urgency};
use maud::{Markup, html};

use crate::chart::{Chart, Drawing, Graph, Map};
use crate::figure::Figure;
use crate::matrix::Matrix;
use crate::part::{Body, Cell, Depth, Facts, Part, Table, Text};
use crate::render::svg::{self, Size};
use crate::visible::on_one_line;
use crate::words;

/// A longer table is folded, and one of more than [`MOST`] rows is cut: the file of values has them all.
const UNFOLDED: usize = 24;
const MOST: usize = 400;
/// How wide drawings are, on a desk and on a phone.
const WIDE: f64 = 1000.0;
const NARROW: f64 = 340.0;
/// A drawing up to this wide stays legible where it is scaled to a narrow page.
const FITS_ANYWHERE: f64 = 480.0;

/// Parts one below the other; details stand folded at the end. What is missing is left to the page.
pub fn parts(parts: &[Part], id: &str) -> Markup {
    let (details, summary): (Vec<&Part>, Vec<&Part>) = parts
        .iter()
        .filter(|part| !matches!(part.body, Body::Missing(_)))
        .partition(|part| part.depth == Depth::Detail);
    html! {
        @for part in summary { (body(&part.body, id)) }
        @if !details.is_empty() {
            details.more {
                summary { "All figures, and how they were measured" }
                @for part in details { (body(&part.body, id)) }
            }
        }
    }
}

/// What a folded section holds: `2 charts, 3 tables`.
pub fn summary_counts(parts: &[Part]) -> String {
    let count = |is: fn(&Body) -> bool| parts.iter().filter(|part| is(&part.body)).count();
    let drawn =
        count(|body| matches!(body, Body::Chart(_) | Body::Map(_) | Body::Drawing(_) | Body::Graph(_)));
    let tables = count(|body| matches!(body, Body::Table(_)));
    let counts = [(drawn, "chart"), (tables, "table")].into_iter().filter(|(n, _)| *n > 0);
    counts.map(|(n, noun)| words::count(n, noun)).collect::<Vec<_>>().join(", ")
}

fn body(body: &Body, id: &str) -> Markup {
    match body {
        Body::Table(table) => self::table(table, id),
        Body::Chart(chart) => self::chart(chart, id),
        Body::Map(map) => self::map(map, id),
        Body::Drawing(drawing) => self::drawing(drawing, id),
        Body::Graph(graph) => self::graph(graph, id),
        Body::Facts(facts) => self::facts(facts),
        Body::Text(text) => self::paragraph(text),
        Body::Finding(finding) => html! { ul.findings { (self::finding(finding)) } },
        Body::Missing(_) => html! {},
    }
}

/// A finding in a sentence and what to do; its figures and its condition are folded. One without such a sentence is whole.
pub fn finding(finding: &Finding) -> Markup {
    let (class, word) = match finding.urgency {
        Urgency::Warning => ("warning", "Warning"),
        Urgency::Advice => ("advice", "Advice"),
        Urgency::Note => ("good-to-know", "Note"),
    };
    let condition = html! {
        small { (text(&finding.condition)) }
        @if !finding.next.is_empty() { span { (text(&finding.next)) } }
    };
    html! {
        li class=(class) data-finding=(finding.id) {
            span.sr { (word) ": " }
            @if finding.brief.is_empty() {
                b { (text(&finding.text)) }
                (condition)
            } @else {
                b { (text(&finding.brief)) }
                @if !finding.act.is_empty() { span { (text(&finding.act)) } }
                details {
                    summary { "Figures and condition" }
                    @if finding.brief != finding.text { p { (text(&finding.text)) } }
                    (condition)
                }
            }
        }
    }
}

/// Text whose parts in backticks are commands.
pub fn text(text: &str) -> Markup {
    let line = on_one_line(text);
    let line = words::legible(&line);
    html! {
        @for (index, part) in line.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn paragraph(paragraph: &Text) -> Markup {
    html! { p { @if !paragraph.label.is_empty() { b.label { (on_one_line(&paragraph.label)) } " " } (text(&paragraph.text)) } }
}

/// The anchor of a chart, apart from that of a table, which may have the same name.
fn drawn_anchor(section: &str, name: &str) -> String {
    format!("{section}-chart-{name}")
}

fn chart(chart: &Chart, id: &str) -> Markup {
    html! {
        figure id=(drawn_anchor(id, &chart.id)) {
            (drawn(chart))
            (caption(&chart.title, &chart.caption))
        }
    }
}

/// A chart alone, which scrolls where it does not fit.
pub fn drawn(chart: &Chart) -> Markup {
    html! { div.chart tabindex="0" { (svg::chart(chart)) } }
}

/// What stands below a chart, a map or a drawing.
pub fn caption(title: &str, caption: &str) -> Markup {
    html! { figcaption { b { (on_one_line(title)) ". " } (text(caption)) } }
}

fn map(map: &Map, id: &str) -> Markup {
    let Matrix { views, orders, .. } = &map.matrix;
    // Groups that the figures show are what there is to see; else those that are claimed.
    let order = orders.len().saturating_sub(1);
    let drawn = |view, order| {
        let drawn = svg::map(map, view, order, Size::Large);
        html! { div.chart tabindex="0" { @if let Some(drawn) = drawn { (drawn) } } }
    };
    let view = views.first().map_or(String::new(), |view| format!("{}. ", view.name()));
    let shown = format!("{view}CPUs {}. ", orders[order].name);
    html! {
        figure id=(drawn_anchor(id, &map.id)) { (drawn(0, order)) (caption(&map.title, &(shown + &map.caption))) }
        @if views.len() > 1 || orders.len() > 1 {
            details { summary { "The same by other methods and in other orders" }
                @for (number, view) in views.iter().enumerate().take(SEVERAL) {
                    @for (place, one) in orders.iter().enumerate() {
                        @if (number, place) != (0, order) && (place == order || number == 0) && is_small(map, number) {
                            figure {
                                (drawn(number, place))
                                figcaption { (on_one_line(&view.name())) "; CPUs " (on_one_line(&one.name)) "." }
                            }
                        }
                    }
                }
                @if views.len() > SEVERAL || !is_small(map, 1) {
                    p.note { "More views: " code { "coho report --svg" } " draws them all." }
                }
            }
        }
    }
}

/// Views of a map that stand on the page at most.
const SEVERAL: usize = 6;

/// Whether another view may be drawn without making the page large.
fn is_small(map: &Map, view: usize) -> bool {
    const CPUS: usize = 128;
    map.matrix.labels.len() <= CPUS && map.matrix.views.len() > view || view == 0
}

fn drawing(drawing: &Drawing, id: &str) -> Markup {
    let is_wide = svg::width_of(drawing, WIDE) > FITS_ANYWHERE;
    html! {
        figure.drawing id=(drawn_anchor(id, &drawing.id)) {
            @if is_wide {
                div.wide { (svg::drawing(drawing, WIDE)) }
                div.narrow { (svg::drawing(drawing, NARROW)) }
            } @else { (svg::drawing(drawing, WIDE)) }
            (caption(&drawing.title, &drawing.caption))
        }
    }
}

fn graph(graph: &Graph, id: &str) -> Markup {
    html! {
        figure.drawing id=(drawn_anchor(id, &graph.id)) {
            (svg::graph(graph, NARROW))
            (caption(&graph.title, &graph.caption))
        }
    }
}

fn facts(facts: &Facts) -> Markup {
    html! {
        @if !facts.title.is_empty() { h3 { (on_one_line(&facts.title)) } }
        div.scroll tabindex="0" { table.facts { tbody {
            @for (name, value) in &facts.facts {
                tr { th scope="row" { (on_one_line(name)) } td { (on_one_line(value)) } }
            }
        } } }
    }
}

fn table(table: &Table, id: &str) -> Markup {
    let shown: Vec<usize> = table.filled_columns().collect();
    let inner = html! {
        div.scroll tabindex="0" { table.figures {
            @if !table.title.is_empty() { caption { (on_one_line(&table.title)) } }
            thead { tr { @for column in shown.iter().map(|&at| &table.columns[at]) {
                // An empty head is none.
                @if column.head().is_empty() { td {} }
                @else { th scope="col" class=[column.is_figures.then_some("number")] { (column.head()) } }
            } } }
            tbody { @for row in table.rows.iter().take(MOST) { tr {
                @for (place, &at) in shown.iter().enumerate() {
                    @if place == 0 { th scope="row" { (cell(&row.cells[at])) } }
                    @else { td class=[(!table.columns[at].is_figures).then_some("words")] { (cell(&row.cells[at])) } }
                }
            } } }
        } }
        @if table.rows.len() > MOST {
            p.note { "And " (table.rows.len() - MOST) " more rows: " code { "coho report --csv" } " writes them all." }
        }
        @for note in &table.notes { p.note { (text(note)) } }
    };
    let anchor = format!("{id}-{}", table.id);
    if table.rows.len() <= UNFOLDED {
        return html! { div id=(anchor) { (inner) } };
    }
    let title = if table.title.is_empty() { "As a table" } else { &table.title };
    html! { details id=(anchor) { summary { (on_one_line(title)) " (" (table.rows.len()) " rows)" } (inner) } }
}

fn cell(cell: &Cell) -> Markup {
    html! { @match cell {
        Cell::Nothing => "–",
        Cell::Text(text) => (self::text(text)),
        Cell::Figure(figure) => (self::figure(figure)),
    } }
}

/// The value, and behind it in small letters its interval.
fn figure(figure: &Figure) -> Markup {
    let text = figure.text();
    match text.split_once(' ').filter(|(_, rest)| rest.starts_with(['(', '['])) {
        Some((value, rest)) => html! { (value) " " small { (rest) } },
        None => html! { (text) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_profile_says_stays_text() {
        let table = Table::of("t", "<i>", ["<script>alert(1)</script>", "run `coho <x>`"])
            .text("<b>", |text| text)
            .figures("time", "ns", |text| text.starts_with('<').then_some(24.0))
            .done();
        let markup = super::table(&table, "s0").into_string();
        assert!(
            !markup.contains("<script") && !markup.contains("<i>") && !markup.contains("<b>"),
            "{markup}"
        );
        assert!(markup.contains("<code>coho &lt;x&gt;</code>"), "{markup}");
    }

    #[test]
    fn a_long_table_is_folded_and_a_very_long_one_cut() {
        let of = |n: usize| {
            let table = Table::of("t", "T", 0..n).text("x", |i| format!("row {i}"));
            super::table(&table.done(), "s0").into_string()
        };
        assert!(!of(3).contains("<details") && of(30).contains("<details"));
        assert!(of(1000).contains("And 600 more rows") && !of(1000).contains("row 999"));
    }
}
