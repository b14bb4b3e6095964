//! Matrices as core-to-core-latency and its descendants write them: bare rows of times, whole or just the lower
//! triangle, with or without labels.

use crate::{Error, MAX_CPUS, Matrix};

/// A line of the file: its number, counted from 1, its text, and its number of cells.
struct Row<'a> {
    line: usize,
    text: &'a str,
    separator: char,
    width: usize,
}

impl<'a> Row<'a> {
    fn new(line: usize, text: &'a str, separator: char) -> Self {
        Self { line, text, separator, width: text.matches(separator).count() + 1 }
    }

    fn cells(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text.split(self.separator).map(|cell| cell.trim().trim_matches('"').trim())
    }

    fn first(&self) -> &'a str {
        self.cells().next().unwrap_or_default()
    }

    fn is_blank(&self) -> bool {
        self.width == 1 && self.first().is_empty()
    }

    /// The row without the label before its cells.
    fn without_first(&self) -> Self {
        match self.text.split_once(self.separator) {
            Some((_, rest)) => Self { text: rest, width: self.width - 1, ..*self },
            None => Self { text: "", ..*self },
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

impl Matrix {
    /// Reads a matrix of times in ns from CSV.
    ///
    /// Rows may be whole or hold one triangle only, with empty cells or `nan` where there is no figure. A line of
    /// labels above the rows and a label before each row are accepted (`0`, `CPU 3`); without them CPUs are
    /// numbered by position. Commas, semicolons or tabs separate cells; lines that begin with `#` are comments.
    ///
    /// # Errors
    /// With line and cell, if a cell is neither empty nor a time; if the rows form neither a square nor a
    /// triangle, name more than [`MAX_CPUS`] CPUs, or hold no figure.
    pub fn parse_csv(text: &str) -> Result<Self, Error> {
        let (labels, rows) = take_labels(split(text)?)?;
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
            // Checks times first: text that is no matrix at all has odd lengths, too.
            for (index, cell) in row.cells().enumerate() {
                let column = from + index;
                if let Some(time) = parse_time(cell, row.line, index + 1)?
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
            triangle &= row.width == at.max(1) || row.width == at + 1;
            if from == 0 && !square && !triangle {
                return Err(Error::at(
                    row.line,
                    row.width,
                    format!(
                        "{} rows and {} cells in this one are neither a square of times nor a triangle",
                        rows.len(),
                        row.width
                    ),
                ));
            }
        }
        if labels.as_ref().is_some_and(|labels| labels.len() != n) {
            return Err(Error::new(format!(
                "{} labels above {n} rows",
                labels.map_or(0, |labels| labels.len())
            )));
        }
        if figures == 0 {
            return Err(Error::new("contains no time between two CPUs"));
        }
        Self::new(labels.unwrap_or_else(|| (0..n as u32).collect()), ns)
    }
}

fn split(text: &str) -> Result<Vec<Row<'_>>, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let text = text.trim_end();
    let separator = [',', ';', '\t'].into_iter().find(|&c| text.contains(c)).unwrap_or(',');
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let row = Row::new(index + 1, line, separator);
        // One more cell than CPUs, for the label.
        if rows.len() > MAX_CPUS || row.width > MAX_CPUS + 1 {
            return Err(Error::at(row.line, row.width, format!("more than {MAX_CPUS} CPUs")));
        }
        // A blank first line may be the first CPU's row of a lower triangle; other blank lines mean nothing.
        if !row.is_blank() || rows.is_empty() {
            rows.push(row);
        }
    }
    let width = rows.iter().map(|row| row.width).max().unwrap_or(0);
    if rows.len() == width + 1 && rows[0].is_blank() && rows[1].width > 1 {
        rows.remove(0);
    }
    Ok(rows)
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
    let labels = if cells.len() == below + 1 && below > 1 && (is_named || cells[0].is_empty()) {
        label_numbers(&cells[1..]).filter(|labels| {
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
    let above = cells.len() == below && label_numbers(&cells).is_some();
    if !beside && !above {
        return Ok((None, rows));
    }
    rows.remove(0);
    if beside {
        rows = rows.iter().map(Row::without_first).collect();
    }
    Ok((label_numbers(&cells[usize::from(beside)..]), rows))
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

/// The increasing numbers at the end of a line of labels.
fn label_numbers(cells: &[&str]) -> Option<Vec<u32>> {
    let numbers: Option<Vec<u32>> = cells.iter().map(|cell| label_number(cell)).collect();
    numbers.filter(|numbers| !numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] < pair[1]))
}

/// 3 for `3`, `CPU3` or `cpu 3`; `None` for `3.5`.
fn label_number(cell: &str) -> Option<u32> {
    let name = cell.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.contains(|c: char| !c.is_alphabetic() && !matches!(c, ' ' | '_' | '#')) {
        return None;
    }
    cell[name.len()..].parse().ok()
}

fn parse_time(cell: &str, line: usize, column: usize) -> Result<Option<f64>, Error> {
    if matches!(cell, "" | "-") || cell.eq_ignore_ascii_case("n/a") {
        return Ok(None);
    }
    match cell.parse::<f64>() {
        Ok(time) if time < 0.0 => {
            Err(Error::at(line, column, format!("{time} is negative, so it is not a time")))
        }
        Ok(time) if time.is_infinite() => Err(Error::at(line, column, "a time cannot be infinite")),
        Ok(time) => Ok((!time.is_nan()).then_some(time)),
        Err(_) => {
            let shown: String = cell.chars().take(24).collect();
            Err(Error::at(
                line,
                column,
                format!(
                    "'{shown}' is not a time in ns; expected comma-separated rows as core-to-core-latency --csv writes"
                ),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The three times of the same three CPUs, whatever the dialect.
    fn assert_three(text: &str) -> Matrix {
        let matrix = Matrix::parse_csv(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
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
    }

    #[test]
    fn labels() {
        assert_eq!(assert_three("cpu,4,5,8\n4,,1.5,2\n5,1.5,,3\n8,2,3,\n").cpus(), [4, 5, 8]);
        assert_eq!(assert_three("CPU,CPU0,CPU1,CPU2\nCPU0,\nCPU1,1.5\nCPU2,2,3\n").cpus(), [0, 1, 2]);
        assert_eq!(assert_three(",0,1,2\n0,,1.5,2\n1,1.5,,3\n2,2,3,\n").cpus(), [0, 1, 2]);
        assert_eq!(Matrix::parse_csv(",20,90\n20,,91\n90,91,\n").unwrap().len(), 3);
        // Times that increase by one.
        assert_eq!(Matrix::parse_csv("0,50,51\n50,0,90\n51,90,0\n").unwrap().cpus(), [0, 1, 2]);
        assert_eq!(assert_three("0,1,2\n,1.5,2\n1.5,,3\n2,3,\n").cpus(), [0, 1, 2]);
    }

    #[test]
    fn errors_name_the_place() {
        let error = Matrix::parse_csv(",1.5\nfast,\n").unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(2), Some(1)));
        assert!(error.to_string().starts_with("line 2, cell 1: 'fast' is not a time"), "{error}");
        let error = Matrix::parse_csv("CPU: PPC970FX, altivec supported\nNum cores: 2\n").unwrap_err();
        assert!(error.to_string().contains("core-to-core-latency"), "{error}");
        assert_eq!(Matrix::parse_csv(",-3\n,\n").unwrap_err().column(), Some(2));
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
            let error = Matrix::parse_csv(text);
            assert!(error.is_err(), "{text:?}: {error:?}");
        }
        assert!(Matrix::parse_csv(&",1".repeat(MAX_CPUS + 2)).is_err());
        assert!(Matrix::parse_csv(&"1\n".repeat(MAX_CPUS + 2)).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "[-0-9a-zA-Z.,;\t\r\n# \"]{0,200}") {
            let _ = Matrix::parse_csv(&text);
        }

        #[test]
        fn never_panics_on_any_text(text in any::<String>()) {
            let _ = Matrix::parse_csv(&text);
        }

        #[test]
        fn reads_what_was_written(n in 2usize..12, seed in any::<u64>()) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let cells: Vec<f64> = (0..n * n).map(|_| f64::from(rng.u32(1..90_000)) / 8.0).collect();
            let text: String = cells.chunks(n).map(|row| {
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                row.join(",") + "\n"
            }).collect();
            let read = Matrix::parse_csv(&text).unwrap();
            let written = Matrix::new((0..n as u32).collect(), cells).unwrap();
            prop_assert_eq!(read.pairs().collect::<Vec<_>>(), written.pairs().collect::<Vec<_>>());
        }
    }
}
