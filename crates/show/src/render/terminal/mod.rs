//! Parts on a terminal, or in a file of text: 80 columns, or as many as a narrower terminal has; no word broken.

mod bars;
mod colours;
mod map;
mod table;
mod width;

use std::io::{self, Write};

use coho_model::{Finding, Urgency};

pub use colours::Colours;
pub use table::wrapped;
pub use width::{COLUMNS, columns};

use crate::chart::{Chart, Graph, Map, Plot};
use crate::part::{Body, Depth, Facts, Missing, Part, Section, Text};
use crate::visible::{Paint, on_one_line};
use crate::words;

/// Width of a label that stands before a sentence.
const LABEL: usize = 10;
/// Reasons that a summary gives at most.
const REASONS: usize = 8;

/// How much is written, and in which colours.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How much of it.
    pub depth: Depth,
    /// What the terminal can show.
    pub colours: Colours,
}

impl Options {
    /// For standard output: `full` for everything.
    pub fn stdout(full: bool) -> Self {
        let depth = if full { Depth::Detail } else { Depth::Summary };
        Self { depth, colours: Colours::of_stdout() }
    }
}

/// Writes parts, one below the other, and how many are left out.
///
/// # Errors
/// If `out` cannot be written to.
pub fn parts(out: &mut impl Paint, parts: &[Part], options: Options) -> io::Result<()> {
    let mut written = Written::default();
    let mut missing = Vec::new();
    let (shown, left_out): (Vec<&Part>, Vec<&Part>) =
        parts.iter().partition(|part| part.depth <= options.depth);
    for part in shown {
        match &part.body {
            Body::Table(table) => written.block(out, &table::text(table, options.depth))?,
            Body::Map(map) => {
                if let Some(text) = self::map(map, options.colours) {
                    let order = map.matrix.orders.last().map_or("", |order| &order.name);
                    written.block(out, &wrapped("", &format!("{}, CPUs {order}", map.title)))?;
                    out.paint(&text)?;
                }
            }
            Body::Chart(chart) => {
                if let Some(bars) = bars(chart) {
                    written.block(out, &format!("{}\n{bars}", on_one_line(&chart.title)))?;
                }
            }
            // The command that shows a topology has a text of its own for it.
            Body::Drawing(_) => {}
            Body::Graph(graph) => written.block(out, &self::graph(graph))?,
            Body::Facts(facts) => written.block(out, &self::facts(facts))?,
            Body::Text(text) => written.line(out, &self::text(text))?,
            Body::Finding(finding) => written.line(out, &self::finding(finding, options.depth))?,
            Body::Missing(one) => missing.push(one),
        }
    }
    let most = if options.depth == Depth::Detail { usize::MAX } else { REASONS };
    for Missing { what, why } in missing.iter().take(most) {
        written.line(out, &wrapped("not available: ", &format!("{what}: {why}")))?;
    }
    if missing.len() > most {
        written.line(out, &format!("not available: {} more; see --full", missing.len() - most))?;
    }
    let left_out = left_out.iter().filter(|part| !matches!(part.body, Body::Chart(_) | Body::Drawing(_)));
    match left_out.count() {
        0 => Ok(()),
        n => written.line(out, &format!("{} more: --full", words::count(n, "part"))),
    }
}

/// A graph's links: `P0 ── P1 218 ns, P4 219 ns`.
fn graph(graph: &Graph) -> String {
    let nodes = graph.linked();
    let width = nodes.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let link = |(name, label): &(&str, &str)| format!("{name} {label}");
    let line = |(name, links): &(&str, Vec<(&str, &str)>)| {
        let start = format!("{}{name} ── ", " ".repeat(width - name.chars().count()));
        wrapped(&on_one_line(&start), &words::joined(links.iter().map(link), ", "))
    };
    words::joined(std::iter::once(on_one_line(&graph.title)).chain(nodes.iter().map(line)), "\n")
}

/// What stood last, so that blocks are set apart by an empty line and sentences are not.
#[derive(Debug, Default, PartialEq)]
enum Written {
    #[default]
    Nothing,
    Block,
    Line,
}

impl Written {
    fn block(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        let gap = if std::mem::replace(self, Self::Block) == Self::Nothing { "" } else { "\n" };
        writeln!(out, "{gap}{text}")
    }

    fn line(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        let gap = if std::mem::replace(self, Self::Line) == Self::Block { "\n" } else { "" };
        writeln!(out, "{gap}{text}")
    }
}

/// Writes one line for a section: its name and its headline.
///
/// # Errors
/// If `out` cannot be written to.
pub fn headline(out: &mut impl Write, section: &Section) -> io::Result<()> {
    if section.headline.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", text(&Text::labelled(section.id, &section.headline)))
}

/// Writes findings, each with a mark that shows how urgent it is, or a sentence if there are none; in detail with the
/// places in the profile of the figures that it rests on.
///
/// # Errors
/// If `out` cannot be written to.
pub fn findings(out: &mut impl Write, findings: &[Finding], depth: Depth) -> io::Result<()> {
    if findings.is_empty() {
        return writeln!(out, "{}", words::NO_FINDING);
    }
    findings.iter().try_for_each(|one| writeln!(out, "{}", finding(one, depth)))
}

fn finding(finding: &Finding, depth: Depth) -> String {
    let mark = match finding.urgency {
        Urgency::Warning => " ! ",
        Urgency::Advice => " > ",
        Urgency::Note => " - ",
    };
    let condition = wrapped("   ", &format!("({})", finding.condition));
    let next = if finding.next.is_empty() { String::new() } else { wrapped("   ", &finding.next) };
    let evidence = match depth {
        Depth::Detail if !finding.evidence.is_empty() => {
            wrapped("   rests on ", &finding.evidence.join(", "))
        }
        _ => String::new(),
    };
    words::joined([wrapped(mark, &finding.text), condition, next, evidence], "\n")
}

fn text(text: &Text) -> String {
    let label = match text.label.as_str() {
        "" => String::new(),
        label => format!("{:<LABEL$} ", on_one_line(label)),
    };
    wrapped(&label, &text.text)
}

fn facts(facts: &Facts) -> String {
    let widest =
        facts.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(columns() / 2);
    let fact =
        |(name, value): &(String, String)| wrapped(&format!("{:<widest$}  ", on_one_line(name)), value);
    words::joined(std::iter::once(on_one_line(&facts.title)).chain(facts.facts.iter().map(fact)), "\n")
}

/// A map in colours; without colours, the figures of a small one.
fn map(map: &Map, colours: Colours) -> Option<String> {
    const FIGURED: usize = 12;
    let matrix = &map.matrix;
    // The last order shows the groups that were found.
    let (view, order) = (matrix.views.first()?, matrix.orders.last()?);
    let time = |a: usize, b: usize| matrix.time(view, order.cells[a], order.cells[b]);
    let cpus: Vec<u32> = order.cells.iter().map(|&cell| matrix.first_cpus[cell]).collect();
    if colours != Colours::None {
        return Some(self::map::draw(&cpus, time, colours)).filter(|text| !text.is_empty());
    }
    if !(3..=FIGURED).contains(&cpus.len()) {
        return None;
    }
    let mut text = String::new();
    for (a, cpu) in cpus.iter().enumerate() {
        let figures = (0..a).map(|b| format!(" {:>5}", time(a, b).map_or("–".into(), words::number)));
        text += &format!("{cpu:>5}{}\n", figures.collect::<String>());
    }
    let heads = cpus[..cpus.len() - 1].iter().map(|cpu| format!(" {cpu:>5}"));
    text += &format!("{:5}{}\n", "", heads.collect::<String>());
    Some(text)
}

/// A chart of one value over time as a line of bars. Other charts are drawn on pages only.
fn bars(chart: &Chart) -> Option<String> {
    let Plot::Lines(series) = &chart.plot else { return None };
    match &series[..] {
        [only] if chart.over_time => Some(self::bars::bars(only.points.iter().map(|point| point.y))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::{Cell, PartList, Table, TableOf};
    use crate::testing;

    fn finding(urgency: Urgency, text: &str, next: &str) -> Finding {
        let condition = "for a while ".repeat(12).trim().to_owned();
        Finding { id: "kind", text: text.into(), urgency, evidence: Vec::new(), condition, next: next.into() }
    }

    #[test]
    fn marks_tell_how_urgent_and_lines_keep_to_the_page() {
        let three = [
            finding(Urgency::Warning, &"word ".repeat(40), "Do `this`."),
            finding(Urgency::Advice, "a\u{1b}[31mb", ""),
            finding(Urgency::Note, "c", ""),
        ];
        let mut out = Vec::new();
        findings(&mut out, &three, Depth::Summary).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= columns()), "{text}");
        let marked: Vec<_> = text.lines().filter(|line| !line.starts_with("   ")).collect();
        assert!(marked[0].starts_with(" ! word") && marked[1].starts_with(" > a\\u{1b}"), "{text}");
        assert_eq!((marked[2], marked.len()), (" - c", 3));
        assert!(text.contains("\n   (for a while") && text.contains("\n   Do `this`.\n"), "{text}");
        assert!(!text.contains("rests on"), "{text}");

        let mut full = Vec::new();
        let evidence = vec!["/memory/rates/3".to_owned(), "/coherence/pairs".to_owned()];
        findings(&mut full, &[Finding { evidence, ..three[1].clone() }, three[2].clone()], Depth::Detail)
            .unwrap();
        let text = String::from_utf8(full).unwrap();
        assert_eq!(text.matches("   rests on /memory/rates/3, /coherence/pairs\n").count(), 1, "{text}");
        assert_eq!(text.matches("rests on").count(), 1, "{text}");
    }

    fn table(names: [&'static str; 2]) -> TableOf<&'static str> {
        Table::of("t", "Times", names).text("name", |name| name).figures("time", "ns", |_| 1.5)
    }

    #[test]
    fn a_summary_says_what_it_leaves_out_and_full_leaves_nothing_out() {
        let mut section = Section::new("x", "X", "");
        section.summary(table(["near", "far"]).detail_after(1));
        section.detail(table(["other", "others"]));
        for i in 0..10 {
            section.summary(Missing { what: format!("thing {i}"), why: "no right".into() });
        }
        let summary = testing::text(&section, Depth::Summary);
        assert!(summary.contains("near") && !summary.contains("far"), "{summary}");
        for count in ["1 more row", "1 part more: --full", "2 more; see --full"] {
            assert!(summary.contains(count), "{summary}");
        }
        let full = testing::text(&section, Depth::Detail);
        for shown in ["far", "others", "thing 9: no right"] {
            assert!(full.contains(shown), "{full}");
        }
        assert!(!full.contains("more"), "{full}");
    }

    #[test]
    fn sentences_stand_together_and_tables_apart_if_anything_stands_in_them() {
        let mut section = Section::new("x", "X", "");
        section.summary(Text::labelled("verdict", "flat"));
        section.summary(Table::of("e", "Empty", [1, 2]).text("name", |_| Cell::Nothing));
        section.summary(Text::labelled("stable", "yes"));
        section.summary(table(["near", "far"]));
        let text = testing::text(&section, Depth::Summary);
        assert!(text.starts_with("verdict    flat\nstable     yes\n\nTimes\n"), "{text}");
    }
}
