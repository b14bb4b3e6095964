//! Tables and maps as files of comma-separated values (RFC 4180), a file each: everything, whatever the depth.
//!
//! Names of programs, hosts and calls come from elsewhere, and spreadsheets take some text for formulas. Such text
//! begins with an apostrophe, the spreadsheets' own mark of text.

use std::io;

use crate::figure::{Figure, Format, Spread};
use crate::matrix::{Matrix, View};
use crate::part::{Cell, Column, Facts, Row, Table};
use crate::visible::on_one_line;
use crate::words;

/// A table: a column of figures has its unit in its name, and stands with the ends of its interval and the number of
/// samples where any figure has them.
pub fn table(table: &Table) -> io::Result<String> {
    let keyed = table.rows.iter().any(|row| row.key.is_some());
    let has_spread = |cell: &Cell| matches!(cell, Cell::Figure(figure) if figure.spread != Spread::None);
    let width = |at: usize| if table.rows.iter().any(|row| has_spread(&row.cells[at])) { 4 } else { 1 };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut head = Vec::from_iter(keyed.then(|| "key".to_owned()));
    for (column, width) in table.columns.iter().zip(&widths) {
        let name = name(column);
        head.extend(["", "_low", "_high", "_n"].map(|end| format!("{name}{end}")).into_iter().take(*width));
    }
    let row = |row: &Row| {
        let key = row.key.as_ref().map_or(String::new(), |key| text(&key.id));
        let mut fields = Vec::from_iter(keyed.then_some(key));
        for (cell, width) in row.cells.iter().zip(&widths) {
            let mut own = match cell {
                Cell::Figure(figure) => Vec::from(with_spread(figure)),
                Cell::Text(cell) => vec![text(cell)],
                Cell::Nothing => Vec::new(),
            };
            own.resize(*width, String::new());
            fields.append(&mut own);
        }
        fields
    };
    write(&head, table.rows.iter().map(row))
}

fn with_spread(figure: &Figure) -> [String; 4] {
    let n = match figure.format {
        Format::Whole | Format::Bytes => String::new(),
        _ => figure.n.to_string(),
    };
    let [low, high] = match figure.spread {
        Spread::None => [String::new(), String::new()],
        Spread::Interval(low, high) | Spread::Range(low, high) => [plain(low), plain(high)],
    };
    [plain(figure.value), low, high, n]
}

/// A number as it was written: all digits but the sixteenth and seventeenth, which come from changing units. Nothing where
/// it is none.
fn plain(value: f64) -> String {
    let written: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    if value.is_finite() { written.to_string() } else { String::new() }
}

/// Text on one line, which no spreadsheet computes: with an apostrophe before what begins as a formula does and is
/// not a number. A number's minus sign of print becomes the one that scripts read.
fn text(cell: &str) -> String {
    let shown = on_one_line(cell);
    let is_number = |text: &str| text.trim_end_matches(" %").parse::<f64>().is_ok();
    let size = shown.strip_prefix('−').filter(|size| size.starts_with(|first: char| first.is_ascii_digit()));
    if let Some(size) = size.filter(|size| is_number(size)) {
        return format!("-{size}");
    }
    let is_formula = shown.trim_start().starts_with(['=', '+', '-', '@']);
    if is_formula && !is_number(&shown) { format!("'{shown}") } else { shown }
}

/// `time_ns`, `together_per_us`; `what` for a column that needs no name where people read it.
fn name(column: &Column) -> String {
    let whole = match words::joined([column.name.as_str(), column.unit], "_") {
        whole if whole.is_empty() => "what".to_owned(),
        whole => whole,
    };
    let whole = text(&whole).replace('×', "times").replace('/', "_per_").replace('^', "");
    whole.replace([' ', ','], "_").replace("__", "_")
}

/// Names and values.
pub fn facts(facts: &Facts) -> io::Result<String> {
    let rows = facts.facts.iter().map(|(name, value)| vec![text(name), text(value)]);
    write(&["name".to_owned(), "value".to_owned()], rows)
}

/// A map's times in ns, a row and a column for each cell, as other tools write them.
pub fn matrix(matrix: &Matrix, view: &View) -> io::Result<String> {
    let labels: Vec<String> = matrix.labels.iter().map(|label| text(label)).collect();
    let row = |(i, label): (usize, &String)| {
        let times = (0..labels.len()).map(|j| matrix.time(view, i, j).map_or(String::new(), plain));
        std::iter::once(label.clone()).chain(times).collect()
    };
    let head: Vec<String> = std::iter::once("ns".to_owned()).chain(labels.iter().cloned()).collect();
    write(&head, labels.iter().enumerate().map(row))
}

/// Rows under a head, for what is no table of a page. No cell breaks its line or is computed by a spreadsheet.
///
/// # Errors
/// If a row has more or fewer cells than the head.
pub fn rows(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> io::Result<String> {
    let head: Vec<String> = head.iter().map(|name| text(name)).collect();
    write(&head, rows.map(|row| row.iter().map(|cell| text(cell)).collect()))
}

fn write(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use coho_profile::Estimate;

    use super::*;

    #[test]
    fn figures_have_all_digits_and_their_intervals() {
        let estimate = Estimate { low: 23.125, high: 25.25, n: 40, ..Estimate::exact(24.0625) };
        let rows = [("a, \"b\"", Some(1.5)), ("line\nfeed\u{1b}", None)];
        let mut of = Table::of("t", "T", rows)
            .text("what", |(what, _)| what)
            .figures("time", "ns", |(_, times)| times.map(|_| Figure::from(&estimate)))
            .figures("× alone", "", |(_, times)| times)
            .keyed(|_| ("x.y", "x"))
            .done();
        of.rows[1].key = None;
        assert_eq!(
            table(&of).unwrap(),
            "key,what,time_ns,time_ns_low,time_ns_high,time_ns_n,times_alone\n\
             x.y,\"a, \"\"b\"\"\",24.0625,23.125,25.25,40,1.5\n,line feed\\u{1b},,,,,\n"
        );
    }

    #[test]
    fn numbers_stand_as_written_in_whatever_unit() {
        let of = |figure: Figure| plain(figure.value);
        assert_eq!(of(Figure::from(358e6).scaled(1e-9)), "0.358");
        assert_eq!(of(Figure::from(10_000_000.0)), "10000000");
        assert_eq!(of(Figure::from(f64::NAN)), "");
        assert_eq!(plain(1.0 / 3.0), "0.333333333333333");
    }

    #[test]
    fn no_text_is_a_formula_and_no_number_is_changed() {
        let formulas = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", " =1", "+1 (0…+1)", "-", "-O2"];
        for formula in formulas {
            assert!(text(formula).starts_with('\''), "{formula:?}: {}", text(formula));
        }
        for plain in ["-5", "+0.5", "-1e9", "+4 %", "-83 %", "a=b", "", "–", "−5 ns", "1-2"] {
            assert_eq!(text(plain), plain);
        }
        assert_eq!(["−38.8", "−12 %", "−-5"].map(text), ["-38.8", "-12 %", "−-5"]);
        assert_eq!(text("\r=1"), "\\u{d}=1", "shown, it is harmless");
        let programs = Table::of("t", "T", ["=HYPERLINK(\"x\")", "-O3"])
            .text("", |name| name)
            .figures("@time", "ns", |_| -1.5)
            .keyed(|name| (name, name))
            .done();
        assert_eq!(
            table(&programs).unwrap(),
            "key,what,'@time_ns\n\
             \"'=HYPERLINK(\"\"x\"\")\",\"'=HYPERLINK(\"\"x\"\")\",-1.5\n'-O3,'-O3,-1.5\n"
        );
        let host = Facts::new("host", "").facts([("+cpu", Some("=1".to_owned()))]);
        assert_eq!(facts(&host).unwrap(), "name,value\n'+cpu,'=1\n");
    }
}
