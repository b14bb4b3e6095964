//! Tables that keep to the width of a page, and text broken between words.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Width, presets};

use super::{COLUMNS, columns};
use crate::part::{Cell as Content, Depth, Row, Table};
use crate::visible::on_one_line;
use crate::{letters, words};

/// Title, rows and notes.
pub(super) fn text(table: &Table, depth: Depth) -> String {
    let columns: Vec<usize> = table.filled_columns().filter(|&at| table.columns[at].depth <= depth).collect();
    let rows: Vec<&Row> = table.rows.iter().filter(|row| row.depth <= depth).collect();
    let texts = |content: fn(&Content) -> String| -> Vec<Vec<String>> {
        // Now, as other letters may be wider.
        let cell = |at: usize, row: &Row| letters::of_locale(&content(&row.cells[at])).into_owned();
        let head = columns.iter().map(|&at| letters::of_locale(&table.columns[at].head()).into_owned());
        let head = head.collect();
        let body = rows.iter().map(|row| columns.iter().map(|&at| cell(at, row)).collect());
        std::iter::once(head).chain(body).collect()
    };
    let is_figures = |place: usize| table.columns[columns[place]].is_figures;
    let (whole, page) = (texts(content), super::columns());
    let (drawn, is_cut) = match narrow(page, &whole, || texts(short)) {
        None => (drawn(&whole, is_figures), false),
        Some(Narrow::Short(rows)) => (drawn(&rows, is_figures), true),
        Some(Narrow::Stacked) => (stacked(&whole, page), false),
    };
    let cut = "Intervals do not fit this terminal.".to_owned();
    let more = match table.rows.len() - rows.len() {
        0 => String::new(),
        n => format!("{}: --full", words::count(n, "more row")),
    };
    let notes = table.notes.iter().map(|note| wrapped("", note));
    let notes = notes.chain(is_cut.then_some(cut));
    words::joined([wrapped("", &table.title), drawn, more].into_iter().chain(notes), "\n")
}

/// How a table is drawn that does not fit a terminal of fewer than the usual columns without breaking its rows.
enum Narrow {
    /// With the figures alone, without their intervals.
    Short(Vec<Vec<String>>),
    /// Each row as a sentence.
    Stacked,
}

fn narrow(page: usize, rows: &[Vec<String>], short: impl Fn() -> Vec<Vec<String>>) -> Option<Narrow> {
    if page >= COLUMNS || least_width(rows) <= page {
        return None;
    }
    let short = short();
    Some(if least_width(&short) <= page { Narrow::Short(short) } else { Narrow::Stacked })
}

/// The width that it takes to break none of the rows; the head may be.
fn least_width(rows: &[Vec<String>]) -> usize {
    let places = 0..rows.first().map_or(0, Vec::len);
    let width = |place: usize| {
        let cells = rows.iter().skip(1).map(|row| row[place].chars().count());
        cells.chain(rows.first().map(|head| longest_word(&head[place]))).max().unwrap_or(0)
    };
    places.map(|place| width(place) + 1).sum::<usize>().saturating_sub(1)
}

/// Each row by itself: its first cell, and below it what the other columns say of it.
fn stacked(rows: &[Vec<String>], page: usize) -> String {
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let nothing = letters::of_locale(NOTHING);
    let row = |row: &Vec<String>| {
        let others = head.iter().zip(row).skip(1).filter(|(_, cell)| **cell != nothing);
        // A pair that fits on a line stays on one.
        let others = others.map(|(name, cell)| match format!("{name} {cell}") {
            long if long.chars().count() > page - 3 => long,
            pair => pair.replace(' ', "\u{a0}"),
        });
        let first = row.first().map_or("", |first| first.as_str());
        let lines =
            [wrapped_within(page, "", first), wrapped_within(page, "  ", &words::joined(others, "; "))];
        lines.join("\n").replace('\u{a0}', " ")
    };
    body.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// In a cell without a value.
const NOTHING: &str = "–";

/// A cell without intervals.
fn short(cell: &Content) -> String {
    match cell {
        Content::Figure(figure) => figure.without_interval().text(),
        other => content(other),
    }
}

fn content(cell: &Content) -> String {
    match cell {
        Content::Nothing => NOTHING.to_owned(),
        Content::Text(text) => words::legible(&on_one_line(text)).into_owned(),
        Content::Figure(figure) => figure.text(),
    }
}

/// The table, as wide as a page at most. The first row is the head.
fn drawn(rows: &[Vec<String>], is_figures: impl Fn(usize) -> bool) -> String {
    let align = |column| if is_figures(column) { CellAlignment::Right } else { CellAlignment::Left };
    let cell = |(column, text): (usize, &String)| Cell::new(text).set_alignment(align(column));
    let mut table = comfy_table::Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic);
    let Some((head, body)) = rows.split_first() else { return String::new() };
    table.set_header(head.iter().enumerate().map(cell));
    for row in body {
        table.add_row(row.iter().enumerate().map(cell));
    }
    let widest = |place: usize, width: fn(&str) -> usize| {
        rows.iter().filter_map(|row| row.get(place)).map(|text| width(text)).max().unwrap_or(0)
    };
    let longest = |most: usize| -> Vec<usize> {
        (0..head.len()).map(|place| widest(place, longest_word).min(most)).collect()
    };
    let width = |padding: u16, columns: &[usize]| -> usize {
        // One more space separates columns.
        columns.iter().map(|width| width + padding as usize + 1).sum::<usize>().saturating_sub(1)
    };
    let whole: Vec<usize> = (0..head.len()).map(|place| widest(place, |text| text.chars().count())).collect();
    // A terminal too narrow for the words gets lines that are too long rather than broken words.
    let page = [columns(), COLUMNS].into_iter().find(|page| width(0, &longest(usize::MAX)) <= *page);
    let page = page.unwrap_or(COLUMNS);
    table.set_width(page as u16);
    let padding = if width(2, &whole) <= page {
        // Where there is room, nothing needs to be broken.
        table.set_content_arrangement(ContentArrangement::Disabled);
        (1, 1)
    } else if width(1, &longest(usize::MAX)) <= page {
        (0, 1)
    } else {
        (0, 0)
    };
    // The longest words are broken only where not even the words fit.
    let most = (1..=page).rev().find(|most| width(padding.0 + padding.1, &longest(*most)) <= page);
    let longest = longest(most.unwrap_or(1));
    for (column, word) in table.column_iter_mut().zip(longest) {
        column.set_padding(padding);
        let word = word as u16 + padding.0 + padding.1;
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(word)));
    }
    table.to_string()
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0)
}

/// What a figure keeps on its line.
const UNITS: [&str; 10] = ["%", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "GB/s"];

/// What no line is broken within: words, and figures with their units.
fn unbroken(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        match pieces.last_mut().filter(|last| is_unit && last.ends_with(|end: char| end.is_ascii_digit())) {
            Some(figure) => *figure += &format!(" {word}"),
            None => pieces.push(word.to_owned()),
        }
    }
    pieces
}

/// Breaks text between words so that it keeps to the page: behind a label as it stands, later lines indented as far.
pub fn wrapped(label: &str, text: &str) -> String {
    wrapped_within(columns(), label, text)
}

fn wrapped_within(page: usize, label: &str, text: &str) -> String {
    let text = on_one_line(text);
    let text = words::legible(&text);
    let (label, text) = (letters::of_locale(label), letters::of_locale(&text));
    let mut lines = label.clone().into_owned();
    let indent = label.chars().count();
    let mut length = indent;
    for word in unbroken(&text) {
        let letters = word.chars().count();
        if length > indent && length + 1 + letters > page {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            length = indent;
        } else if length > indent {
            lines.push(' ');
            length += 1;
        }
        lines += &word;
        length += letters;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::TableOf;

    #[test]
    fn words_keep_to_the_page() {
        let text = "word ".repeat(60);
        let broken = wrapped("[1] ", &text);
        assert!(broken.lines().all(|line| line.chars().count() <= columns()), "{broken}");
        assert!(broken.lines().skip(1).all(|line| line.starts_with("    word")), "{broken}");
        assert_eq!(broken.split_whitespace().count(), 61);
        assert_eq!(wrapped("RDPMC      ", "not available"), "RDPMC      not available");
        let figures = "getpid 149 ±4 %, stat 1088 ns; ".repeat(40);
        let broken = wrapped("", &figures);
        assert!(broken.lines().all(|line| !line.starts_with('%') && !line.starts_with("ns")), "{broken}");
    }

    fn text(table: TableOf<u32>) -> String {
        let text = super::text(&table.done(), Depth::Summary);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        text
    }

    #[test]
    fn a_wide_table_keeps_to_the_page_without_breaking_a_word() {
        let words = "compare-and-swap by 16 CPUs that are far apart";
        let table = Table::of("t", "T", [1, 2])
            .text("operation", |_| words)
            .figures("time", "ns", |_| 12345.0)
            .text("what", |_| words)
            .text("how", |_| words)
            .figures("share", "", |_| 0.25);
        let text = text(table);
        assert_eq!(text.matches("compare-and-swap").count(), 6, "{text}");
    }

    #[test]
    fn on_a_narrow_terminal_no_row_is_broken() {
        let rows = |name: &str, figure: &str| {
            [["operation", "time, ns", "ratio"], [name, figure, "1.04"]]
                .map(|row| row.map(str::to_owned).to_vec())
        };
        let whole = rows("compare-and-swap", "12345 (12000–12999)");
        assert!(
            narrow(60, &whole, || whole.to_vec()).is_none()
                && narrow(80, &whole, || unreachable!()).is_none()
        );
        let cut = narrow(40, &whole, || rows("compare-and-swap", "12345").to_vec());
        assert!(matches!(cut, Some(Narrow::Short(rows)) if rows[1][1] == "12345"));
        let long = rows("a step of two CPUs that alternate on one line, CPUs 0 and 1", "12345 (12000–12999)");
        assert!(matches!(narrow(40, &long, || long.to_vec()), Some(Narrow::Stacked)));
        assert_eq!(
            stacked(&long, 40),
            "a step of two CPUs that alternate on one\nline, CPUs 0 and 1\n  time, ns 12345 (12000–12999);\n  ratio 1.04"
        );
        let name = "8 x Xeon X7560 (Nehalem-EX), 4 boards of 2, 64 cores";
        let facts = [["fact", "x7560"], ["CPU", name]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(
            stacked(&facts, 40),
            "CPU\n  x7560 8 x Xeon X7560 (Nehalem-EX), 4\n  boards of 2, 64 cores"
        );
    }

    #[test]
    fn words_longer_than_the_page_are_broken_and_others_are_not() {
        let table = Table::of("t", "T", [1])
            .text("name", |_| "x".repeat(300))
            .text("how", |_| "all-at-once")
            .figures("time", "ns", |_| 12345.0)
            .figures("cycles", "", |_| Content::Nothing);
        let text = text(table);
        assert_eq!(text.matches('x').count(), 300, "{text}");
        assert!(text.contains("all-at-once") && text.contains("12345"), "{text}");
        assert!(!text.contains("cycles"), "a column in which nothing stands is not drawn: {text}");
    }
}
