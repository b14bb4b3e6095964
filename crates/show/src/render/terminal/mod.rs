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
use crate::{summary, words};

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
            Body::Finding(finding) => written.line(out, &self::finding(finding))?,
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

/// Writes one line for a section, as [`headline`], with what of its headline fits.
///
/// # Errors
/// If `out` cannot be written to.
pub fn short_headline(out: &mut impl Write, section: &Section) -> io::Result<()> {
    let fitting = summary::fitting(&section.headline, summary::beside(LABEL + 1));
    headline(out, &Section::new(section.id, section.title, fitting))
}

/// Writes findings in at most so many lines, each with its number and a mark that shows how urgent it is, and how many are
/// left out; a sentence if there are none. In detail, each as [`finding`] does.
///
/// # Errors
/// If `out` cannot be written to.
pub fn findings(out: &mut impl Write, findings: &[Finding], depth: Depth, most: usize) -> io::Result<()> {
    if findings.is_empty() {
        return writeln!(out, "{}", words::NO_FINDING);
    }
    if depth == Depth::Detail {
        return findings.iter().try_for_each(|one| writeln!(out, "{}", finding(one)));
    }
    let (mut written, mut lines) = (0, 0);
    for (at, one) in findings.iter().enumerate().filter(|(_, one)| !one.brief.is_empty()) {
        let text = brief(at + 1, one);
        lines += text.lines().count();
        if lines > most {
            break;
        }
        writeln!(out, "{text}")?;
        written += 1;
    }
    let more = match findings.len() - written {
        0 => String::new(),
        n => format!("; {n} more: --full"),
    };
    writeln!(out, "{}", wrapped("   ", &format!("Figures and conditions: `coho findings --explain 1`{more}")))
}

fn mark(finding: &Finding) -> char {
    match finding.urgency {
        Urgency::Warning => '!',
        Urgency::Advice => '>',
        Urgency::Note => '-',
    }
}

fn brief(number: usize, finding: &Finding) -> String {
    let mark = format!("{number:>2} {} ", mark(finding));
    let act = if finding.act.is_empty() { String::new() } else { wrapped("     ", &finding.act) };
    words::joined([wrapped(&mark, &finding.brief), act], "\n")
}

/// One finding whole: its condition, what to do, and the places in the profile of the figures that it rests on.
pub fn finding(finding: &Finding) -> String {
    let mark = format!(" {} ", mark(finding));
    let condition = wrapped("   ", &format!("({})", finding.condition));
    let next = if finding.next.is_empty() { String::new() } else { wrapped("   ", &finding.next) };
    let evidence = match finding.evidence.is_empty() {
        false => wrapped("   rests on ", &finding.evidence.join(", ")),
        true => String::new(),
    };
    words::joined([wrapped(&mark, &finding.text), condition, next, evidence], "\n")
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
        let evidence = vec!["/memory/rates/3".to_owned(), "/coherence/pairs".to_owned()];
        let (brief, act) = (text.to_owned(), next.to_owned());
        Finding { id: "kind", text: text.into(), brief, urgency, evidence, condition, next: next.into(), act }
    }

    #[test]
    fn marks_tell_how_urgent_and_lines_keep_to_the_page() {
        let three = [
            finding(Urgency::Warning, &"word ".repeat(40), "Do `this`."),
            finding(Urgency::Advice, "a\u{1b}[31mb", ""),
            finding(Urgency::Note, "c", ""),
        ];
        let mut out = Vec::new();
        findings(&mut out, &three, Depth::Summary, usize::MAX).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= columns()), "{text}");
        let marked: Vec<_> = text.lines().filter(|line| !line.starts_with("   ")).collect();
        assert!(marked[0].starts_with(" 1 ! word") && marked[1].starts_with(" 2 > a\\u{1b}"), "{text}");
        assert_eq!((marked[2], marked.len()), (" 3 - c", 3));
        assert!(text.contains("\n     Do `this`.\n"), "{text}");
        assert!(!text.contains("rests on") && !text.contains("for a while"), "{text}");

        let mut full = Vec::new();
        let [_, second, third] = three;
        let third = Finding { evidence: Vec::new(), ..third };
        findings(&mut full, &[second, third], Depth::Detail, usize::MAX).unwrap();
        let text = String::from_utf8(full).unwrap();
        assert!(text.contains("\n   (for a while"), "{text}");
        assert_eq!(text.matches("   rests on /memory/rates/3, /coherence/pairs\n").count(), 1, "{text}");
        assert_eq!(text.matches("rests on").count(), 1, "{text}");
    }

    #[test]
    fn a_summary_of_findings_keeps_to_its_lines_and_counts_the_rest() {
        let many: Vec<Finding> = (0..9).map(|_| finding(Urgency::Note, "one line", "Do `this`.")).collect();
        let mut out = Vec::new();
        findings(&mut out, &many, Depth::Summary, 7).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 7, "{text}");
        assert!(text.ends_with("--explain 1`; 6 more: --full\n"), "{text}");
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
