//! Tables and maps as files of comma-separated values (RFC 4180), a file each: everything, whatever the depth.

use std::io;

use crate::figure::{Figure, Format, Spread};
use crate::matrix::{Matrix, index};
use crate::part::{Body, Cell, Column, Facts, Section, Table};
use crate::visible::on_one_line;

/// The files of some sections: name without ending, and content.
///
/// # Errors
/// Never for content that is text; what the writer of CSV says otherwise.
pub fn files(sections: &[Section]) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for part in sections.iter().flat_map(|section| &section.parts) {
        match &part.body {
            Body::Table(table) => files.push((table.id.clone(), self::table(table)?)),
            Body::Facts(facts) => files.push((facts.id.to_owned(), self::facts(facts)?)),
            Body::Map(map) => {
                for view in 0..map.matrix.views.len() {
                    let stem = map.matrix.views[view].file_stem();
                    files.push((format!("{}-{stem}", map.id), matrix(&map.matrix, view)?));
                }
            }
            _ => {}
        }
    }
    Ok(files)
}

/// A table: a column of figures has its unit in its name, and stands with the ends of its interval and the number of
/// samples where any figure tells them.
///
/// # Errors
/// As [`files`].
pub fn table(table: &Table) -> io::Result<String> {
    let keyed = table.rows.iter().any(|row| row.key.is_some());
    let wide: Vec<bool> = (0..table.columns.len())
        .map(|at| figures(table, at).any(|figure| figure.spread != Spread::None))
        .collect();
    let mut head = Vec::new();
    if keyed {
        head.push("key".to_owned());
    }
    for (column, wide) in table.columns.iter().zip(&wide) {
        let name = name(column);
        if *wide {
            let ends = ["low", "high", "n"].map(|end| format!("{name}_{end}"));
            head.push(name);
            head.extend(ends);
        } else {
            head.push(name);
        }
    }
    let mut rows = Vec::new();
    for row in &table.rows {
        let mut cells = Vec::new();
        if keyed {
            cells.push(row.key.as_ref().map_or_else(String::new, |key| on_one_line(&key.id)));
        }
        for (at, wide) in wide.iter().enumerate() {
            match row.cells.get(at) {
                Some(Cell::Figure(figure)) => {
                    cells.push(plain(figure.value));
                    cells.extend(wide.then(|| spread(figure)).into_iter().flatten());
                }
                Some(Cell::Text(text)) => {
                    cells.push(on_one_line(text));
                    cells.extend(std::iter::repeat_n(String::new(), if *wide { 3 } else { 0 }));
                }
                Some(Cell::Nothing) | None => {
                    cells.extend(std::iter::repeat_n(String::new(), if *wide { 4 } else { 1 }));
                }
            }
        }
        rows.push(cells);
    }
    write(&head, rows)
}

fn figures(table: &Table, at: usize) -> impl Iterator<Item = &Figure> {
    table.rows.iter().filter_map(move |row| match row.cells.get(at) {
        Some(Cell::Figure(figure)) => Some(figure),
        _ => None,
    })
}

fn spread(figure: &Figure) -> [String; 3] {
    let n = match figure.format {
        Format::Whole | Format::Bytes => String::new(),
        _ => figure.n.to_string(),
    };
    match figure.spread {
        Spread::None => [String::new(), String::new(), n],
        Spread::Interval(low, high) | Spread::Range(low, high) => [plain(low), plain(high), n],
    }
}

/// All digits of a number; nothing where it is none.
fn plain(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// `time_ns`, `together_per_us`.
fn name(column: &Column) -> String {
    let whole = match (column.name.as_str(), column.unit) {
        (name, "") => name.to_owned(),
        ("", unit) => unit.to_owned(),
        (name, unit) => format!("{name}_{unit}"),
    };
    let whole = on_one_line(&whole).replace('×', "times").replace('/', "_per_").replace('^', "");
    whole.replace([' ', ','], "_").replace("__", "_")
}

/// Names and values.
fn facts(facts: &Facts) -> io::Result<String> {
    let rows = facts.facts.iter().map(|(name, value)| vec![on_one_line(name), on_one_line(value)]);
    write(&["name".to_owned(), "value".to_owned()], rows.collect())
}

/// A map's times in ns, a row and a column for each cell, which CSV of other tools has, too.
fn matrix(matrix: &Matrix, view: usize) -> io::Result<String> {
    let n = matrix.labels.len();
    let labels: Vec<String> = matrix.labels.iter().map(|label| on_one_line(label)).collect();
    let row = |i: usize| {
        let times = (0..n).map(|j| match i == j {
            true => String::new(),
            false => plain(matrix.views[view].ns[index(n, i.min(j), i.max(j))]),
        });
        std::iter::once(labels[i].clone()).chain(times).collect()
    };
    let head: Vec<String> = std::iter::once("ns".to_owned()).chain(labels.iter().cloned()).collect();
    write(&head, (0..n).map(row).collect())
}

fn write(head: &[String], rows: Vec<Vec<String>>) -> io::Result<String> {
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
    use crate::part::Row;

    #[test]
    fn figures_have_all_digits_and_their_intervals() {
        let estimate = Estimate { low: 23.125, high: 25.25, n: 40, ..Estimate::exact(24.0625) };
        let columns = [Column::text("what"), Column::figures("time", "ns"), Column::figures("× alone", "")];
        let rows = [
            Row::new(["a, \"b\"".into(), Figure::from(&estimate).into(), Figure::exact(1.5).into()])
                .keyed("x.y", "x"),
            Row::new(["line\nfeed\u{1b}".into(), Cell::Nothing, Cell::Nothing]),
        ];
        let text = table(&Table::new("t", "T").columns(columns).rows(rows)).unwrap();
        assert_eq!(
            text,
            "key,what,time_ns,time_ns_low,time_ns_high,time_ns_n,times_alone\n\
             x.y,\"a, \"\"b\"\"\",24.0625,23.125,25.25,40,1.5\n,line feed\\u{1b},,,,,\n"
        );
    }
}
