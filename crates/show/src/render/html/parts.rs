//! Parts as markup.

use coho_model::{Finding, Urgency};
use maud::{Markup, html};

use crate::chart::{Chart, Drawing, Map};
use crate::figure::Figure;
use crate::part::{Body, Cell, Column, Depth, Facts, Part, Row, Table, Text};
use crate::render::svg::{self, Size};
use crate::visible::on_one_line;
use crate::words;

/// A table of more rows is folded, and one of more than [`MOST`] is cut: the file of values has them all.
const UNFOLDED: usize = 24;
const MOST: usize = 400;
/// How wide drawings are, on a desk and on a phone.
const WIDE: f64 = 1000.0;
const NARROW: f64 = 340.0;

/// Parts one below the other; those that not everybody wants stand folded at the end. What is missing is left to the
/// page.
pub fn parts(parts: &[Part], id: &str) -> Markup {
    let at_depth = |depth: Depth| parts.iter().filter(move |part| part.depth == depth);
    let details = at_depth(Depth::Detail).filter(|part| !matches!(part.body, Body::Missing(_)));
    let details: Vec<Markup> = details.map(|part| body(&part.body, id)).collect();
    html! {
        @for part in at_depth(Depth::Summary) { (body(&part.body, id)) }
        @if !details.is_empty() {
            details.more { summary { "All figures, and how they were measured" } @for one in &details { (one) } }
        }
    }
}

/// What a folded section holds: `2 charts, 3 tables`.
pub fn summary_counts(parts: &[Part]) -> String {
    let count = |is: fn(&Body) -> bool| parts.iter().filter(|part| is(&part.body)).count();
    let drawn = count(|body| matches!(body, Body::Chart(_) | Body::Map(_) | Body::Drawing(_)));
    let tables = count(|body| matches!(body, Body::Table(_)));
    let counts = [(drawn, "chart"), (tables, "table")].into_iter().filter(|(n, _)| *n > 0);
    counts.map(|(n, noun)| words::count(n, noun)).collect::<Vec<_>>().join(", ")
}

fn body(body: &Body, id: &str) -> Markup {
    match body {
        Body::Table(table) if table.is_empty() => html! {},
        Body::Table(table) => self::table(table, id),
        Body::Chart(chart) => self::chart(chart, id),
        Body::Map(map) => self::map(map, id),
        Body::Drawing(drawing) => self::drawing(drawing, id),
        Body::Facts(facts) => self::facts(facts),
        Body::Text(text) => self::paragraph(text),
        Body::Finding(finding) => html! { ul.findings { (self::finding(finding)) } },
        Body::Missing(_) => html! {},
    }
}

/// A finding: what is so, its condition, and what to do.
pub fn finding(finding: &Finding) -> Markup {
    let (class, word) = match finding.urgency {
        Urgency::Warning => ("warning", "Warning"),
        Urgency::Advice => ("advice", "Advice"),
        Urgency::Note => ("good-to-know", "Note"),
    };
    html! {
        li class=(class) data-finding=(finding.id) {
            b { span.sr { (word) ": " } (text(&finding.text)) }
            small { (text(&finding.condition)) }
            @if !finding.next.is_empty() { span { (text(&finding.next)) } }
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

/// Apart from those of tables, which may have the same name.
fn drawn_anchor(section: &str, name: &str) -> String {
    format!("{section}-chart-{name}")
}

fn chart(chart: &Chart, id: &str) -> Markup {
    html! {
        figure id=(drawn_anchor(id, &chart.id)) {
            div.chart { (svg::chart(chart)) }
            figcaption { b { (on_one_line(&chart.title)) ". " } (text(&chart.caption)) }
        }
    }
}

fn map(map: &Map, id: &str) -> Markup {
    let matrix = &map.matrix;
    let drawn = |view: usize, order: usize| svg::map(map, view, order, Size::Large);
    // Groups that the figures show are what there is to see; else those that are claimed.
    let order = matrix.orders.len().saturating_sub(1);
    html! {
        figure id=(drawn_anchor(id, &map.id)) {
            div.chart { @if let Some(first) = drawn(0, order) { (first) } }
            figcaption {
                b { (on_one_line(&map.title)) ". " }
                @if let Some(view) = matrix.views.first() { (on_one_line(&view.name())) ". " }
                @if let Some(order) = matrix.orders.get(order) { "CPUs " (on_one_line(&order.name)) ". " }
                (text(&map.caption))
            }
        }
        @if matrix.views.len() > 1 || matrix.orders.len() > 1 {
            details { summary { "The same by other methods and in other orders" }
                @for (number, view) in matrix.views.iter().enumerate().take(SEVERAL) {
                    @for (place, one) in matrix.orders.iter().enumerate() {
                        @if (number, place) != (0, order) && (place == order || number == 0) && is_small(map, number) {
                            figure {
                                div.chart { @if let Some(drawn) = drawn(number, place) { (drawn) } }
                                figcaption { (on_one_line(&view.name())) "; CPUs " (on_one_line(&one.name)) "." }
                            }
                        }
                    }
                }
                @if matrix.views.len() > SEVERAL || !is_small(map, 1) {
                    p.note { "More views: " code { "coho report --svg" } " draws them all." }
                }
            }
        }
    }
}

/// Up to so many views of a map stand on the page.
const SEVERAL: usize = 6;

/// Whether another view may be drawn without making the page large.
fn is_small(map: &Map, view: usize) -> bool {
    const CPUS: usize = 128;
    map.matrix.labels.len() <= CPUS && map.matrix.views.len() > view || view == 0
}

fn drawing(drawing: &Drawing, id: &str) -> Markup {
    html! {
        figure.drawing id=(drawn_anchor(id, &drawing.id)) {
            div.wide { (svg::drawing(drawing, WIDE)) }
            div.narrow { (svg::drawing(drawing, NARROW)) }
            figcaption { b { (on_one_line(&drawing.title)) ". " } (text(&drawing.caption)) }
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
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|&at| {
            table.rows.iter().any(|row| row.cells.get(at).is_some_and(|cell| *cell != Cell::Nothing))
        })
        .collect();
    let rows: Vec<&Row> = table.rows.iter().take(MOST).collect();
    let inner = html! {
        div.scroll tabindex="0" { table.figures {
            @if !table.title.is_empty() { caption { (on_one_line(&table.title)) } }
            thead { tr { @for &at in &shown { (head(&table.columns[at])) } } }
            tbody { @for row in &rows { tr {
                @for (place, &at) in shown.iter().enumerate() {
                    @let column = &table.columns[at];
                    @if place == 0 { th scope="row" { (cell(row.cells.get(at))) } }
                    @else { td.number[column.is_figures] { (cell(row.cells.get(at))) } }
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

fn head(column: &Column) -> Markup {
    let unit = column.unit;
    html! { th scope="col" class=[column.is_figures.then_some("number")] {
        (on_one_line(&column.name)) @if !column.name.is_empty() && !unit.is_empty() { ", " } (unit)
    } }
}

fn cell(cell: Option<&Cell>) -> Markup {
    html! { @match cell {
        None | Some(Cell::Nothing) => "–",
        Some(Cell::Text(text)) => (self::text(text)),
        Some(Cell::Figure(figure)) => (self::figure(figure)),
    } }
}

/// The value, and small behind it what is known of it.
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
        let table =
            Table::new("t", "<i>").columns([Column::text("<b>"), Column::figures("time", "ns")]).rows([
                Row::new(["<script>alert(1)</script>".into(), 24.0.into()]),
                Row::new(["run `coho <x>`".into(), Cell::Nothing]),
            ]);
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
            let rows = (0..n).map(|i| Row::new([Cell::from(format!("row {i}"))]));
            super::table(&Table::new("t", "T").columns([Column::text("x")]).rows(rows), "s0").into_string()
        };
        assert!(!of(3).contains("<details") && of(30).contains("<details"));
        assert!(of(1000).contains("And 600 more rows") && !of(1000).contains("row 999"));
    }
}
