//! Bare rows of times, whole or just one triangle, with or without labels, as core-to-core-latency writes them with `--csv`;
//! also rows of a markdown table.

use super::blame;
use super::cell::{self, label_number, label_numbers};
use super::clean::Line;
use crate::{Error, MAX_CPUS, Matrix};

/// A line of the file: its number, counted from 1, its text, and its number of cells.
pub(super) struct Row<'a> {
    pub(super) line: usize,
    text: &'a str,
    separator: char,
    pub(super) width: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(line: usize, text: &'a str, separator: char) -> Self {
        let text = match separator {
            // Bars stand around a row, too.
            '|' => {
                let text = text.trim();
                let text = text.strip_prefix('|').unwrap_or(text);
                text.strip_suffix('|').unwrap_or(text)
            }
            ' ' => text.trim(),
            _ => text,
        };
        Self { line, text, separator, width: Cells { rest: Some(text), separator }.count() }
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        Cells { rest: Some(self.text), separator: self.separator }
            .map(|cell| cell.trim().trim_matches(['"', '`', '*']).trim())
    }

    fn first(&self) -> &'a str {
        self.cells().next().unwrap_or_default()
    }

    fn is_blank(&self) -> bool {
        self.width == 1 && self.first().is_empty()
    }

    /// The row without the label before its cells.
    fn without_first(&self) -> Self {
        let mut cells = Cells { rest: Some(self.text), separator: self.separator };
        cells.next();
        Self { text: cells.rest.unwrap_or_default(), width: self.width - 1, ..*self }
    }
}

/// The cells of a line. A separator between quotation marks is part of a cell.
struct Cells<'a> {
    rest: Option<&'a str>,
    separator: char,
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let mut is_quoted = false;
        let end = rest.find(|c: char| {
            is_quoted ^= c == '"';
            c == self.separator && !is_quoted
        });
        match end {
            Some(end) => {
                let after = &rest[end + self.separator.len_utf8()..];
                // Several spaces separate as one does.
                let after = if self.separator == ' ' { after.trim_start() } else { after };
                self.rest = Some(after);
                Some(&rest[..end])
            }
            None => {
                self.rest = None;
                Some(rest)
            }
        }
    }
}

/// How the rows lie in the square.
#[derive(Clone, Copy)]
enum Shape {
    /// Each begins in the first column; the first row is that of this CPU.
    FromFirstColumn { first_row: usize },
    /// Each begins after the diagonal.
    BehindDiagonal,
}

/// Reads rows of times.
///
/// # Errors
/// As [`Matrix::parse`].
pub(super) fn parse(lines: &[Line<'_>]) -> Result<Matrix, Error> {
    let (labels, rows) = take_labels(split(lines)?)?;
    let shape = shape(&rows);
    let n = match shape {
        Shape::FromFirstColumn { first_row } => rows.len() + first_row,
        Shape::BehindDiagonal => rows[0].width + 1,
    };
    if n > MAX_CPUS {
        return Err(Error::new(format!("{n} CPUs; a matrix may have {MAX_CPUS}")));
    }
    let mut ns = vec![f64::NAN; n * n];
    let mut figures = 0usize;
    let (mut square, mut triangle) = (true, true);
    for (index, row) in rows.iter().enumerate() {
        let (at, from) = match shape {
            Shape::FromFirstColumn { first_row } => (index + first_row, 0),
            Shape::BehindDiagonal => (index, index + 1),
        };
        for (index, cell) in row.cells().enumerate() {
            let column = from + index;
            if let Some(time) = cell::time(cell, row.line, index + 1)?
                && at != column
                && column < n
            {
                ns[at * n + column] = time;
                figures += 1;
            }
        }
        // All rows are whole, except for an empty diagonal at the very end, or all end at the
        // diagonal.
        square &= row.width == n || (index + 1 == rows.len() && row.width + 1 == n);
        triangle &= from > 0 || row.width == at.max(1) || row.width == at + 1;
    }
    // Times were checked first: text that is no matrix at all has odd lengths, too.
    if !square && !triangle {
        let lengths: Vec<(usize, usize)> = rows.iter().map(|row| (row.line, row.width)).collect();
        return Err(blame::odd_row(&lengths));
    }
    if labels.as_ref().is_some_and(|labels| labels.len() != n) {
        return Err(Error::new(format!("{} labels above {n} rows", labels.map_or(0, |labels| labels.len()))));
    }
    if figures == 0 {
        return Err(Error::new("contains no time between two CPUs"));
    }
    Matrix::new(labels.unwrap_or_else(|| (0..n as u32).collect()), ns)
}

/// What separates the cells: what stands in most lines; of several such, the one that decimals cannot follow.
pub(super) fn separator(lines: &[Line<'_>]) -> char {
    let told = || lines.iter().filter(|line| !line.text.starts_with('#'));
    let count = |separator: char| told().filter(|line| line.text.contains(separator)).count();
    let counts = ['|', ';', '\t', ','].map(|separator| (separator, count(separator)));
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let best = counts.into_iter().find(|(_, count)| *count == most && most > 0);
    let best = best.map_or(',', |(separator, _)| separator);
    // Numbers apart by spaces, with decimals behind a comma or without a comma.
    let is_of_numbers = |line: &Line<'_>| {
        let mut tokens = line.text.split_whitespace().peekable();
        tokens.peek().is_some() && tokens.all(|token| cell::number(token).is_some())
    };
    let are_spaces = best == ',' && told().any(|line| line.text.trim().contains(' '));
    if are_spaces && told().filter(|line| !line.text.trim().is_empty()).all(is_of_numbers) {
        ' '
    } else {
        best
    }
}

fn split<'a>(lines: &'a [Line<'_>]) -> Result<Vec<Row<'a>>, Error> {
    let separator = separator(lines);
    let is_comment = |line: &Line<'_>| line.text.starts_with('#') || is_rule(&line.text, separator);
    let mut lines = lines;
    // Prompts and fences around the rows.
    let is_row = |line: &Line<'_>| line.text.contains(separator);
    if lines.iter().any(is_row) {
        while let [first, rest @ ..] = lines
            && is_around(&first.text, separator)
        {
            lines = rest;
        }
        while let [rest @ .., last] = lines
            && is_around(&last.text, separator)
        {
            lines = rest;
        }
    }
    let mut rows = Vec::new();
    for line in lines.iter().filter(|line| !is_comment(line)) {
        let row = Row::new(line.number, &line.text, separator);
        // One more cell than CPUs, for the label.
        if rows.len() > MAX_CPUS || row.width > MAX_CPUS + 1 {
            return Err(Error::at(row.line, row.width, format!("more than {MAX_CPUS} CPUs")));
        }
        // A blank first line may be the first CPU's row of a lower triangle; other blank lines mean nothing.
        if !row.is_blank() || rows.is_empty() {
            rows.push(row);
        }
    }
    // A separator at the end of every row, too.
    let width = rows.len() + 1;
    if separator != ' '
        && rows.len() > 1
        && rows.iter().all(|row| row.width == width && row.text.ends_with(separator))
    {
        for row in &mut rows {
            row.text = row.text.strip_suffix(separator).unwrap_or(row.text);
            row.width -= 1;
        }
    }
    let width = rows.iter().map(|row| row.width).max().unwrap_or(0);
    if rows.len() == width + 1 && rows[0].is_blank() && rows[1].width > 1 {
        rows.remove(0);
    }
    Ok(rows)
}

/// Whether a line only rules off the head of a markdown table.
fn is_rule(text: &str, separator: char) -> bool {
    separator == '|'
        && text.contains('-')
        && text.chars().all(|c| matches!(c, '|' | '-' | ':' | '+' | '=' | ' '))
}

/// Whether a line is no row, but a command, a prompt, a sentence or the fence around a piece of code.
fn is_around(text: &str, separator: char) -> bool {
    let text = text.trim();
    let is_prose = text.split_whitespace().count() > 1 && text.contains(char::is_alphabetic);
    let is_prompt = text.ends_with(['$', '#', '%', '>']) && !text.starts_with('#');
    (!text.contains(separator) || text.starts_with("$ "))
        && (is_prose || is_prompt || text.starts_with("```") || text.starts_with("~~~"))
        || separator == '|' && !text.contains('|')
}

/// Labels of rows and columns, if the file has them, and the rows without them.
///
/// # Errors
/// If numbers may be labels or times: a symmetric matrix of whole numbers also starts with the same row and column.
fn take_labels(mut rows: Vec<Row<'_>>) -> Result<(Option<Vec<u32>>, Vec<Row<'_>>), Error> {
    let Some(head) = rows.first() else { return Ok((None, rows)) };
    let below = rows.len() - 1;
    let cells: Vec<&str> = head.cells().collect();
    let is_named = cells.concat().contains(char::is_alphabetic);
    // A number in the corner is a time of the first CPU.
    if is_named
        && cells.len() > 2
        && label_number(cells[0]).is_none()
        && cell::time(cells[0], 0, 0).is_err()
        && let Some(labels) = label_numbers(cells[1..].iter().copied())
    {
        check_beside(&labels, &rows)?;
    }
    let labels = if cells.len() == below + 1 && below > 1 && (is_named || cells[0].is_empty()) {
        label_numbers(cells[1..].iter().copied()).filter(|labels| {
            rows[1..].iter().map(|row| label_number(row.first())).eq(labels.iter().map(|n| Some(*n)))
        })
    } else {
        None
    };
    let beside = match labels.as_deref() {
        None => false,
        // A time is never 0.
        Some(labels) if is_named || labels[0] == 0 => true,
        Some(labels) if labels.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
            let why = "these numbers may be CPUs or times; write the CPUs as 'cpu 1'";
            return Err(Error::at(head.line, 2, why.to_owned()));
        }
        Some(_) => false,
    };
    let above = cells.len() == below && label_numbers(cells.iter().copied()).is_some();
    if !beside && !above {
        return Ok((None, rows));
    }
    rows.remove(0);
    if beside {
        rows = rows.iter().map(Row::without_first).collect();
    }
    Ok((label_numbers(cells[usize::from(beside)..].iter().copied()), rows))
}

/// Rows of 1, 2, 3 … times are a lower triangle whose first row, which would be empty, was left out; rows that each
/// get one shorter are an upper one.
fn shape(rows: &[Row<'_>]) -> Shape {
    let is_time = |cell: &str| cell.parse::<f64>().is_ok_and(|time| time.is_finite() && time > 0.0);
    let falls = |rows: &[Row<'_>]| rows.windows(2).all(|pair| pair[0].width == pair[1].width + 1);
    match rows {
        [first, .., last] if falls(rows) && last.width == 1 && is_time(first.first()) => {
            Shape::BehindDiagonal
        }
        _ => {
            let grows = |(index, row): (usize, &Row<'_>)| {
                row.width == index + 1 && row.cells().last().is_some_and(is_time)
            };
            let triangle = !rows.is_empty() && rows.iter().enumerate().all(grows);
            Shape::FromFirstColumn { first_row: usize::from(triangle) }
        }
    }
}

/// Checks that under a line of labels each row begins with the next of them.
///
/// # Errors
/// At the first row that has more cells than the line of labels, another label, or the next row's label within it.
fn check_beside(labels: &[u32], rows: &[Row<'_>]) -> Result<(), Error> {
    for (index, label) in labels.iter().enumerate() {
        let (before, row) = (&rows[index], rows.get(index + 1));
        let is_label = |cell: &str| label_number(cell) == Some(*label);
        match row {
            Some(row) if row.width > rows[0].width => {
                let why = format!(
                    "{} cells, more than the line of labels has; perhaps two rows run together",
                    row.width
                );
                return Err(Error::on(row.line, why));
            }
            Some(row) if is_label(row.first()) => {}
            _ if index > 0 && before.cells().skip(1).any(is_label) => {
                return Err(Error::on(before.line, format!("the row of CPU {label} begins within this one")));
            }
            Some(row) => {
                let why = format!("'{}' where the row of CPU {label} should begin", row.first());
                return Err(Error::at(row.line, 1, why));
            }
            None => return Ok(()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The three times of the same three CPUs, whatever the dialect.
    fn assert_three(text: &str) -> Matrix {
        let matrix = Matrix::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let times: Vec<f64> = matrix.pairs().map(|(_, _, ns)| ns).collect();
        assert_eq!((matrix.len(), times), (3, vec![1.5, 2.0, 3.0]), "{text:?}");
        matrix
    }

    #[test]
    fn dialects() {
        assert_three(",1.5,2\n1.5,,3\n2,3,\n");
        assert_three(",,\r\n1.5,,\r\n2,3,\r\n");
        assert_three("\u{feff}nan,1.5,2\n1.5,NaN,3\n2,3,-");
        assert_three("\n1.5\n2,3\n");
        assert_three("\n,1.5,2\n1.5,,3\n2,3,\n");
        assert_three("1.5\n2,3\n");
        assert_three("\n1.5,\n2,3,\n");
        assert_three("# ns\n\"\";\"1.5\";\"2\"\n;;3\n;;\n");
        assert_three("0,1.5,2\n1.5,0,3\n2,3,0");
        assert_three("1.5,2\n3\n");
        assert_three(",1.5,2\n1.5,,3\n2,3\n");
        assert_three(";1,5;2\n1,5;;3,0\n2;3;\n");
        assert_three("\t1,5\t2\n1,5\t\t3\n2\t3\t");
        assert_three("\"\",\"1,5\",\"2,0\"\n\"1,5\",,3\n2,3,\n");
        assert_three("0 1.5 2\n1.5 0   3\n2 3 0\n");
        assert_three(" 0,0 1,5 2,0\n 1,5 0,0 3,0\n 2,0 3,0 0,0\n");
        assert_three(", 1.5, 2\n1.5, , 3\n2, 3,\n");
        assert_three("me@host:~$ core-to-core-latency --csv\n,1.5,2\n1.5,,3\n2,3,\nme@host:~$ ");
        assert_three("```csv\n,1.5±0.1,2 ns\n1.5,,3\n2,3,\n```");
        assert_three("nan,1.5,2,\n1.5,nan,3,\n2,3,nan,\n");
        assert_three("x,0,1,2,\n0,x,1.5,2,\n1,1.5,x,3,\n2,2,3,x,\n");
        assert_three("||1.5|2|\n|1.5||3|\n|2|3||\n");
    }

    #[test]
    fn labels() {
        assert_eq!(assert_three("cpu,4,5,8\n4,,1.5,2\n5,1.5,,3\n8,2,3,\n").cpus(), [4, 5, 8]);
        assert_eq!(assert_three("CPU,CPU0,CPU1,CPU2\nCPU0,\nCPU1,1.5\nCPU2,2,3\n").cpus(), [0, 1, 2]);
        assert_eq!(assert_three(",0,1,2\n0,,1.5,2\n1,1.5,,3\n2,2,3,\n").cpus(), [0, 1, 2]);
        assert_eq!(Matrix::parse(",20,90\n20,,91\n90,91,\n").unwrap().len(), 3);
        // Times that increase by one.
        assert_eq!(Matrix::parse("0,50,51\n50,0,90\n51,90,0\n").unwrap().cpus(), [0, 1, 2]);
        let markdown = "Mine:\n\n| CPU | 0 | 1 | 2 |\n|----:|---|:-:|---|\n| **0** |  | 1.5 | 2 |\n| **1** | 1.5 | | 3 |\n\
                        | **2** | 2 | 3 | |\n";
        assert_eq!(assert_three(markdown).cpus(), [0, 1, 2]);
        assert_eq!(assert_three("0,1,2\n,1.5,2\n1.5,,3\n2,3,\n").cpus(), [0, 1, 2]);
    }

    #[test]
    fn errors_name_the_place() {
        let error = Matrix::parse(",1.5\nfast,\n").unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(2), Some(1)));
        assert!(error.to_string().starts_with("line 2, cell 1: 'fast' is not a time"), "{error}");
        let error = Matrix::parse("CPU: PPC970FX, altivec supported\nNum cores: 2\n").unwrap_err();
        assert!(error.to_string().contains("core-to-core-latency"), "{error}");
        assert_eq!(Matrix::parse(",-3\n,\n").unwrap_err().column(), Some(2));
    }

    /// Rows of 9 CPUs, with labels or without, whole or a lower triangle.
    fn rows_of_nine(is_whole: bool, has_labels: bool) -> Vec<String> {
        let cell = |row: usize, column: usize| match row == column {
            true => String::new(),
            false => format!("{}.5", 20 + row + column),
        };
        let row = |row: usize| {
            let columns = if is_whole { 9 } else { row.max(1) };
            let cells: Vec<String> = (0..columns).map(|column| cell(row, column)).collect();
            if has_labels { format!("{row},{}", cells.join(",")) } else { cells.join(",") }
        };
        let head = has_labels.then(|| "cpu,0,1,2,3,4,5,6,7,8".to_owned());
        head.into_iter().chain((0..9).map(row)).collect()
    }

    #[test]
    fn the_line_that_differs_from_the_others_is_blamed() {
        for (is_whole, has_labels) in [(true, false), (false, false), (true, true), (false, true)] {
            let rows = rows_of_nine(is_whole, has_labels);
            let read = Matrix::parse(&rows.join("\n")).unwrap();
            assert_eq!((read.len(), read.pairs().count()), (9, 36), "{is_whole} {has_labels}");
            for at in 1..rows.len() - 1 {
                let run_together = |rows: &mut Vec<String>| {
                    let next = rows.remove(at + 1);
                    rows[at] += &format!(",{next}");
                };
                let shortened = |rows: &mut Vec<String>| {
                    let end = rows[at].rfind(',').unwrap_or(0);
                    rows[at].truncate(end);
                };
                let mut changed = rows.clone();
                run_together(&mut changed);
                let error = Matrix::parse(&changed.join("\n")).unwrap_err();
                assert_eq!(error.line(), Some(at + 1), "{is_whole} {has_labels} {at}: {error}");
                if is_whole && !has_labels {
                    let mut changed = rows.clone();
                    shortened(&mut changed);
                    let error = Matrix::parse(&changed.join("\n")).unwrap_err();
                    assert_eq!(error.line(), Some(at + 1), "{at}: {error}");
                }
            }
        }
        let mut rows = rows_of_nine(true, false);
        rows.remove(4);
        let error = Matrix::parse(&rows.join("\n")).unwrap_err();
        assert_eq!((error.line(), error.to_string().contains("8 rows of 9")), (None, true), "{error}");
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        for text in [
            "",
            "\n\n",
            ",\n,\n",
            ",1,2\n1,,3\n",
            // Two CPUs 1 and 2, or three CPUs.
            ",1,2\n1,,3\n2,3,\n",
            ",50,51,52\n50,,90,90\n51,90,,60\n52,90,60,\n",
            "1,2,3\n4,5\n6,7,8\n",
            ",1,2\n1,,inf\n2,3,\n",
            "1,2\n3,4\n5,6\n7,8\n",
            "0",
        ] {
            let error = Matrix::parse(text);
            assert!(error.is_err(), "{text:?}: {error:?}");
        }
        assert!(Matrix::parse(&",1".repeat(MAX_CPUS + 2)).is_err());
        assert!(Matrix::parse(&"1\n".repeat(MAX_CPUS + 2)).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "[-0-9a-zA-Z.,;\t\r\n# \"]{0,200}") {
            let _ = Matrix::parse(&text);
        }

        #[test]
        fn never_panics_on_any_text(text in any::<String>()) {
            let _ = Matrix::parse(&text);
        }

        #[test]
        fn reads_what_was_written(n in 2usize..12, seed in any::<u64>()) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let cells: Vec<f64> = (0..n * n).map(|_| f64::from(rng.u32(1..90_000)) / 8.0).collect();
            let text: String = cells.chunks(n).map(|row| {
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                row.join(",") + "\n"
            }).collect();
            let read = Matrix::parse(&text).unwrap();
            let written = Matrix::new((0..n as u32).collect(), cells).unwrap();
            prop_assert_eq!(read.pairs().collect::<Vec<_>>(), written.pairs().collect::<Vec<_>>());
        }
    }
}
