//! Tables for people: a line of CPU numbers, then a row for each CPU, cells apart by spaces. core-to-core-latency prints
//! such a table unless asked for CSV, and so does c2clat.

use std::ops::Range;

use super::cell::{label_number, label_numbers, time};
use super::clean::Line;
use super::csv;
use crate::{Error, MAX_CPUS, Matrix};

/// A row: its line, its CPU's position among the columns, and its cells.
struct Row {
    line: usize,
    at: usize,
    cells: Vec<Option<f64>>,
}

/// A table: its columns, and the lines that it takes up.
struct Table {
    cpus: Vec<u32>,
    rows: Vec<Row>,
    lines: Range<usize>,
}

/// Which columns the cells of a row are in: how many cells the row of the CPU at a position has, and which column the
/// first one is in. `without` says whether its own column is left out.
struct Shape {
    cells: fn(usize, usize) -> usize,
    first: fn(usize) -> usize,
    without: bool,
}

/// Lower triangles without and with the diagonal, whole rows with and without it, and upper triangles.
const SHAPES: [Shape; 6] = [
    Shape { cells: |_, at| at, first: |_| 0, without: false },
    Shape { cells: |_, at| at + 1, first: |_| 0, without: false },
    Shape { cells: |n, _| n, first: |_| 0, without: false },
    Shape { cells: |n, _| n - 1, first: |_| 0, without: true },
    Shape { cells: |n, at| n - 1 - at, first: |at| at + 1, without: false },
    Shape { cells: |n, at| n - at, first: |at| at, without: false },
];

/// The table in a text, if it has one. Where the same times also stand there as CSV, which has more digits, those.
///
/// # Errors
/// If a cell is no time, a row's length fits no table, or there are several tables.
pub(super) fn parse(lines: &[Line<'_>], has_tabs: bool) -> Result<Option<Matrix>, Error> {
    let mut found: Option<Table> = None;
    let mut at = 0;
    while at < lines.len() {
        match table(lines, at, has_tabs)? {
            Some(table) if found.is_some() => {
                let line = lines[table.lines.start].number;
                return Err(Error::on(line, "a second table of times begins here; keep one of them"));
            }
            Some(table) => {
                at = table.lines.end;
                found = Some(table);
            }
            None => at += 1,
        }
    }
    let Some(table) = found else { return unheaded(lines) };
    let n = table.cpus.len();
    let others = lines[..table.lines.start].iter().chain(&lines[table.lines.end..]);
    let is_row = |line: &&Line<'_>| {
        line.text.matches(',').count() + 1 == n
            && line.text.split(',').all(|cell| cell.trim().is_empty() || cell.trim().parse::<f64>().is_ok())
    };
    let csv: Vec<Line<'_>> = others
        .filter(is_row)
        .map(|line| Line { number: line.number, text: line.text.as_ref().into() })
        .collect();
    if csv.len() == n
        && let Ok(exact) = csv::parse(&csv)
    {
        return Matrix::new(table.cpus, exact.into_cells()).map(Some);
    }
    table.matrix().map(Some)
}

/// A lower triangle whose line of CPU numbers was not copied: each row begins with its number, and has as many times.
fn unheaded(lines: &[Line<'_>]) -> Result<Option<Matrix>, Error> {
    let label = |line: &Line<'_>| line.text.split_whitespace().next().and_then(label_number);
    let Some(mut lines) = lines.iter().position(|line| label(line).is_some()).map(|first| &lines[first..])
    else {
        return Ok(None);
    };
    // The row of the first CPU has no times, and may be missing, too.
    let first = u32::from(label(&lines[0]) == Some(1));
    let is_row = |(at, line): (u32, &Line<'_>)| {
        label(line) == Some(at) && line.text.split_whitespace().count() == at as usize + 1
    };
    let number = (first..).zip(lines).take_while(|row| is_row(*row)).count();
    lines = &lines[..number];
    if number + first as usize <= 2 {
        return Ok(None);
    }
    let mut table = Table { cpus: (0..number as u32 + first).collect(), rows: Vec::new(), lines: 0..0 };
    for (at, line) in (first..).zip(lines) {
        let cells = cells(line.text.split_whitespace().skip(1), line.number)?;
        table.rows.push(Row { line: line.number, at: at as usize, cells });
    }
    table.matrix().map(Some)
}

/// A line of CPU numbers without rows behind it, as a narrow terminal wraps it.
pub(super) fn lone_head(lines: &[Line<'_>]) -> Option<Error> {
    let is_head = |line: &&Line<'_>| {
        let (words, numbers) = split(&line.text);
        !line.text.contains(',')
            && words.is_empty()
            && label_numbers(numbers).is_some_and(|cpus| cpus.len() > 3)
    };
    let line = lines.iter().find(is_head)?;
    Some(Error::on(
        line.number,
        "no row of its first CPU follows this line of CPU numbers; perhaps lines were wrapped",
    ))
}

/// The words before the numbers of a line that is nothing else: "" if there are none.
pub(super) fn words_before_numbers(text: &str) -> Option<String> {
    let (words, numbers) = split(text);
    (!numbers.is_empty() && label_numbers(numbers.iter().copied()).is_some()).then(|| words.join(" "))
}

/// The words that a line begins with, and what follows from the first number on.
fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_word =
        |token: &&str| !token.starts_with(|c: char| c.is_ascii_digit()) && label_number(token).is_none();
    let mut tokens = text.split_whitespace().peekable();
    let mut words = Vec::new();
    while let Some(word) = tokens.next_if(is_word) {
        words.push(word);
    }
    (words, tokens.collect())
}

/// The table that begins at a line, if one does.
fn table(lines: &[Line<'_>], at: usize, has_tabs: bool) -> Result<Option<Table>, Error> {
    let head = &lines[at].text;
    if head.contains([',', ';', '|']) || head.contains('\t') && !has_tabs {
        return Ok(None);
    }
    let (words, numbers) = split(head);
    let cpus = match label_numbers(numbers) {
        Some(cpus) if cpus.len() > 1 && words.len() < 3 => cpus,
        _ => return Ok(None),
    };
    if cpus.len() > MAX_CPUS {
        return Err(Error::on(lines[at].number, format!("more than {MAX_CPUS} CPUs")));
    }
    let mut table = Table { cpus, rows: Vec::new(), lines: at..at + 1 };
    for (index, line) in lines.iter().enumerate().skip(at + 1) {
        let is_rule = line.text.chars().all(|c| matches!(c, ' ' | '-' | '=' | '+' | '─' | '━' | '┼' | '\t'));
        if is_rule {
            continue;
        }
        let mut tokens = line.text.split_whitespace();
        let label = tokens.next().and_then(|label| label_number(label.trim_end_matches([':', '|'])));
        let Some(label) = label else { break };
        let last = table.rows.last().map(|row| row.at);
        let position = table.cpus.binary_search(&label);
        match position {
            // The rows begin with the first CPU's, or are no rows.
            _ if last.is_none() && position != Ok(0) => return Ok(None),
            Ok(at) if last.is_none_or(|last| at > last) => {
                table.rows.push(Row { line: line.number, at, cells: cells(tokens, line.number)? });
                table.lines.end = index + 1;
            }
            // Another table's line of CPU numbers.
            Ok(_) if label_numbers(split(&line.text).1).as_ref() == Some(&table.cpus) => break,
            Ok(_) => return Err(Error::on(line.number, format!("a second row of CPU {label}"))),
            Err(_) if last == Some(table.cpus.len() - 1) => break,
            Err(_) => {
                let why = format!("a row of CPU {label}, which the line of CPU numbers does not have");
                return Err(Error::on(line.number, why));
            }
        }
    }
    Ok((table.rows.len() > 1).then_some(table))
}

/// The times of a row; what follows `±` belongs to the time before it.
fn cells<'a>(tokens: impl Iterator<Item = &'a str>, line: usize) -> Result<Vec<Option<f64>>, Error> {
    let mut cells = Vec::new();
    let mut tokens = tokens.filter(|token| !matches!(*token, "|" | "ns")).peekable();
    while let Some(token) = tokens.next() {
        match token {
            "±" | "+/-" | "+-" => {
                tokens.next();
            }
            token if token.starts_with('±') || token.starts_with("+/-") => {}
            token => cells.push(time(token.trim_end_matches(','), line, cells.len() + 1)?),
        }
    }
    Ok(cells)
}

impl Table {
    fn matrix(self) -> Result<Matrix, Error> {
        let n = self.cpus.len();
        let fits = |shape: &Shape| {
            self.rows.iter().filter(|row| row.cells.len() == (shape.cells)(n, row.at)).count()
        };
        // The first of those that fit most rows.
        let shape = SHAPES.iter().rev().max_by_key(|shape| fits(shape)).unwrap_or(&SHAPES[0]);
        let mut ns = vec![f64::NAN; n * n];
        for (index, row) in self.rows.iter().enumerate() {
            let expected = (shape.cells)(n, row.at);
            // The last line may have been cut off.
            let is_cut = index + 1 == self.rows.len() && row.cells.len() < expected;
            if row.cells.len() != expected && !is_cut {
                let cpu = self.cpus[row.at];
                let why = format!(
                    "{} times in the row of CPU {cpu}, where {expected} fit the other rows",
                    row.cells.len()
                );
                return Err(Error::on(row.line, why));
            }
            let columns = (shape.first)(row.at)..n;
            let columns = columns.filter(|&column| !shape.without || column != row.at);
            for (column, time) in columns.zip(&row.cells) {
                if let Some(time) = time.filter(|_| column != row.at) {
                    ns[row.at * n + column] = time;
                }
            }
        }
        if ns.iter().all(|ns| ns.is_nan()) {
            return Err(Error::new("contains no time between two CPUs"));
        }
        Matrix::new(self.cpus, ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Matrix {
        Matrix::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }

    fn times(text: &str) -> Vec<(usize, usize, f64)> {
        read(text).pairs().collect()
    }

    const THREE: [(usize, usize, f64); 3] = [(0, 1, 25.0), (0, 2, 90.0), (1, 2, 91.0)];

    /// The layout of core-to-core-latency 1.2, and that of its first versions.
    #[test]
    fn what_core_to_core_latency_prints() {
        let now = "CPU: AMD Ryzen 7\nNum cores: 3\nNum iterations per samples: 1000\nNum samples: 300\n\n\
                   1) CAS latency on a single shared cache line\n\n           0       1       2 \n      0\n      1   \
                   25±0 \n      2   90±1    91±0 \n\n    Min  latency: 25.0ns ±0.1 cores: (1,0)\n    Max  latency: \
                   91.0ns ±0.0 cores: (2,1)\n    Mean latency: 68.7ns\n";
        assert_eq!(times(now), THREE);
        let before = "Num cores: 3\nUsing RDTSC to measure time: false\nNum round trips per samples: 5000\nNum samples: \
                      300\nShowing latency=round-trip-time/2 in nanoseconds:\n\n       0       1       2   \n  0\n  1    \
                      25±6 \n  2    90±1    91±0 \n\nMin  latency: 25.0ns ±11.5 cores: (1,0)\n";
        assert_eq!(times(before), THREE);
        // As pasted: with a prompt, in colours, without the error's sign.
        let coloured = "me@host:~$ core-to-core-latency -c 2,4,7\n       2    4    7\n  2\n  4 \u{1b}[38;5;2m 25\u{1b}[0m\n  7 \
                        \u{1b}[31m 90\u{1b}[0m±1  91±0  \nme@host:~$ ";
        let matrix = read(coloured);
        assert_eq!((matrix.cpus(), matrix.pairs().collect::<Vec<_>>()), (&[2, 4, 7][..], THREE.to_vec()));
        assert_eq!(times("> ```\n>  0 1 2\n> 0\n> 1 25 ± 0\n> 2 90 ± 1 91 ± 2\n> ```"), THREE);
    }

    #[test]
    fn other_layouts() {
        let whole = " CPU    0    1    2\n   0    0   25   90\n   1   25    0   91\n   2   90   91    0\n";
        assert_eq!(times(whole), THREE);
        let plotted =
            format!("set cblabel \"Latency (ns)\"\n$data << EOD\n{whole}EOD\nplot '$data' matrix\n");
        assert_eq!(times(&plotted), THREE);
        assert_eq!(times("  0 1 2\n -----\n0: - 25,0 90,0\n1: 25,0 - 91,0\n2: 90,0 91,0 -\n"), THREE);
        assert_eq!(times("    0  1  2\n0      25 90\n1  25    91\n2  90 91\n"), THREE);
        assert_eq!(times("0\n1 25±0\n2 90±1 91±0\nMean latency: 68.7ns\n"), THREE);
        assert_eq!(times("1) CAS\n\t0\t1\t2\n0\n1\t25±0\n2\t90±1\t91±0\n"), THREE);
        assert_eq!(times("[[0, 25, 90], [25, 0, 91],\n [90, 91, 0]]"), THREE);
        assert_eq!(times("[[ 0. 25. 90.]\n [25.  0. 91.]\n [90. 91.  0.]]"), THREE);
        assert_eq!(times("CPU0 CPU1 CPU2\nCPU0 25ns 90ns\nCPU1 91ns\nCPU2\n"), THREE);
    }

    #[test]
    fn what_was_cut_off_is_missing() {
        let matrix = read("  0 1 2 3\n0\n1 25\n2 90 91\n");
        assert_eq!((matrix.len(), matrix.pairs().count()), (4, 3));
        assert_eq!(read("  0 1 2 3\n0\n1 25\n2 90 91\n3 92").pairs().count(), 4);
    }

    #[test]
    fn csv_beside_the_table_has_more_digits() {
        let both =
            "  4 5 6\n4\n5 25±0\n6 90±0 91±0\n\nMean latency: 68.7ns\n,25.04,90.1\n25.04,,91.2\n90.1,91.2,\n";
        let matrix = read(both);
        assert_eq!((matrix.cpus(), matrix.between(0, 1)), (&[4, 5, 6][..], Some(25.04)));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, says) in [
            ("head\n  0 1 2\n0\n1 25\n2 90 fast\n", 5, "'fast'"),
            ("  0 1 2 3\n0\n1 25 7\n2 90 91\n3 90 91 92\n", 3, "2 times in the row of CPU 1"),
            ("  0 1 2\n0\n1 25\n3 90 91\n", 4, "CPU 3"),
            ("  0 1 2\n0\n1 25\n1 90\n2 90 91\n", 4, "second row of CPU 1"),
            ("  0 1\n0\n1 25\n\nReads\n  0 1\n0\n1 27\n", 6, "a second table"),
            (
                "Writer Numa Node     0\t     1\n            0\t -\t 111.0\n            1\t111.3\t -\n",
                1,
                "NUMA nodes",
            ),
            ("Local Socket L2->L2 HIT  latency\t51.6\n", 1, "NUMA nodes"),
        ] {
            let error = Matrix::parse(text).unwrap_err();
            assert_eq!(error.line(), Some(line), "{text:?}: {error}");
            assert!(error.to_string().contains(says), "{text:?}: {error}");
        }
    }

    /// Rows of whole numbers, without labels, are no table with labels.
    #[test]
    fn a_square_of_whole_numbers_has_no_labels() {
        assert_eq!(times("0 25 90\n25 0 91\n90 91 0\n"), THREE);
    }
}
