//! Charts and drawings as tables and sentences, for where nothing can be drawn.

use crate::boxes::Node;
use crate::chart::{Bar, Chart, Drawing, Graph, Plot, Point, Series};
use crate::figure::{Figure, Format};
use crate::part::{Body, Column, Part, Table, Text};
use crate::{scale, words};

/// Series that stand side by side, at most; of more, each has a row.
const ABREAST: usize = 4;
/// Points of a series that stand side by side, at most; of more, each has a row.
const ALONG: usize = 8;
/// Letters of a drawing, at most.
const DRAWN: usize = 1500;

/// The same parts, with the figures of charts as tables and drawings in words.
pub fn readable(parts: Vec<Part>) -> Vec<Part> {
    let readable = |body| match body {
        Body::Chart(chart) if !chart.over_time => Body::Table(table(&chart)),
        Body::Drawing(drawing) => Body::Text(text(&drawing)),
        Body::Graph(graph) => Body::Text(links(&graph)),
        other => other,
    };
    parts.into_iter().map(|part| Part { body: readable(part.body), ..part }).collect()
}

/// A chart's figures.
pub fn table(chart: &Chart) -> Table {
    let (id, title) = (chart.id.clone(), chart.title.clone());
    let at = |one: &Series, x: f64| one.points.iter().find(|point| point.x == x).map(of_point);
    let table = match &chart.plot {
        Plot::Lines(series) if series.len() <= ABREAST => Table::of(id, title, places(series))
            .figures(&chart.x.title, "", |x| Format::Plain.of(x))
            .columns_of(series, |one| Column::figures(&one.name, ""), |x, one| at(one, x))
            .note(format!("{}.", words::sentence(&chart.y.title)))
            .done(),
        Plot::Lines(series) if places(series).len() <= ALONG => Table::of(id, title, series)
            .text("", |one| one.name.as_str())
            .columns_of(places(series), |x| Column::figures(words::plain(x), ""), at)
            .note(format!("{}, by {}.", words::sentence(&chart.y.title), chart.x.title))
            .done(),
        Plot::Lines(series) => {
            let points = series.iter().flat_map(|one| one.points.iter().map(move |point| (one, point)));
            Table::of(id, title, points)
                .text("", |(one, _)| one.name.as_str())
                .figures(&chart.x.title, "", |(_, point)| Format::Plain.of(point.x))
                .figures(&chart.y.title, "", |(_, point)| of_point(point))
                .done()
        }
        Plot::Bars { categories, series } => Table::of(id, title, categories.iter().enumerate())
            .text("", |(_, category)| category.as_str())
            .columns_of(
                series,
                |one| Column::figures(&one.name, ""),
                |(row, _), one| one.bars.get(row)?.as_ref().map(of_bar),
            )
            .note(format!("{}.", words::sentence(&chart.x.title)))
            .done(),
        Plot::Histogram(bins) => Table::of(id, title, bins)
            .figures("from", "", |bin| Format::Plain.of(bin.from))
            .figures("to", "", |bin| Format::Plain.of(bin.to))
            .figures(&chart.y.title, "", |bin| Figure::count(bin.count))
            .note(format!("{}.", words::sentence(&chart.x.title)))
            .done(),
    };
    let caption = Some(chart.caption.clone()).filter(|caption| !caption.is_empty());
    Table { notes: table.notes.into_iter().chain(caption).collect(), ..table }
}

/// Where any of the series has a point.
fn places(series: &[Series]) -> Vec<f64> {
    let mut places = scale::distinct(series.iter().flat_map(|one| one.points.iter().map(|point| point.x)));
    places.sort_by(f64::total_cmp);
    places
}

fn of_point(point: &Point) -> Figure {
    Figure::within(point.y, point.interval, 1).format(Format::Plain)
}

fn of_bar(bar: &Bar) -> Figure {
    Figure::within(bar.value, bar.interval, 1).format(Format::Plain)
}

/// A graph's links, point by point.
fn links(graph: &Graph) -> Text {
    let link = |(name, label): &(&str, &str)| format!("{name} ({label})");
    let of_node = |(name, links): (&str, Vec<(&str, &str)>)| {
        format!("{name} with {}", words::joined(links.iter().map(link), ", "))
    };
    let links = words::joined(graph.linked().into_iter().map(of_node), "; ");
    Text::new(words::short(&format!("{}: {links}", graph.title), DRAWN))
}

/// A drawing's boxes, those inside in brackets.
fn text(drawing: &Drawing) -> Text {
    fn inside(nodes: &[Node]) -> String {
        let name = |node: &Node| match node.label.as_str() {
            "" => node.kind.to_owned(),
            label => label.to_owned(),
        };
        let node = |node: &Node| match &node.children[..] {
            [] => name(node),
            children => format!("{} [{}]", name(node), inside(children)),
        };
        words::joined(nodes.iter().map(node), ", ")
    }
    Text::new(words::short(&format!("{}: {}", drawing.title, inside(&drawing.nodes)), DRAWN))
}
