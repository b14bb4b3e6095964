//! Matrices as core-to-core-latency and its descendants write them: bare rows of times, whole or their lower
//! triangle, with or without labels.

use crate::{Error, MAX_CPUS, Matrix};

/// A line of the file: its number, counted from 1, and its cells.
struct Row<'a> {
    line: usize,
    cells: Vec<&'a str>,
}

impl Matrix {
    /// Reads a matrix of times in ns from CSV.
    ///
    /// Rows may be whole or hold the lower triangle only, with empty cells or `nan` where no figure is. A line of
    /// labels above, and a label before each row, are understood (`0`, `CPU 3`); without them CPUs are numbered by
    /// position. Cells part at commas, semicolons or tabs; lines that begin with `#` are comments.
    ///
    /// # Errors
    /// With line and cell, if a cell is neither empty nor a time; if the rows form no square or triangle, name more
    /// than [`MAX_CPUS`] CPUs or hold no figure.
    pub fn parse_csv(text: &str) -> Result<Self, Error> {
        let rows = split(text)?;
        let (labels, rows) = take_labels(rows);
        let width = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let first_row = usize::from(is_triangle_without_first_row(&rows));
        let n = width.max(rows.len() + first_row).max(labels.as_ref().map_or(0, Vec::len));
        if n > MAX_CPUS {
            return Err(Error::new(format!("{n} CPUs; a matrix may have {MAX_CPUS}")));
        }
        let mut ns = vec![f64::NAN; n * n];
        let mut figures = 0usize;
        for (index, row) in rows.iter().enumerate() {
            let at = index + first_row;
            for (column, cell) in row.cells.iter().enumerate() {
                if let Some(time) = parse_time(cell, row.line, column + 1)?
                    && at != column
                {
                    ns[at * n + column] = time;
                    figures += 1;
                }
            }
        }
        let whole = rows.len() + first_row == n && (width == n || width + 1 == n);
        match figures {
            0 => Err(Error::new("holds no time of a pair of CPUs")),
            _ if !whole => Err(Error::new(format!(
                "{} rows of up to {width} cells are neither a square of times nor its lower triangle",
                rows.len()
            ))),
            _ => Self::new(labels.unwrap_or_else(|| (0..n as u32).collect()), ns),
        }
    }
}

fn split(text: &str) -> Result<Vec<Row<'_>>, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let text = text.trim_end();
    let separator = [',', ';', '\t'].into_iter().find(|&c| text.contains(c)).unwrap_or(',');
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let cells: Vec<&str> = line
            .split(separator)
            .take(MAX_CPUS + 2)
            .map(|cell| cell.trim().trim_matches('"').trim())
            .collect();
        if rows.len() > MAX_CPUS || cells.len() > MAX_CPUS + 1 {
            return Err(Error::at(index + 1, cells.len(), format!("more than {MAX_CPUS} CPUs")));
        }
        // A blank first line may be the first CPU's row of a lower triangle; other blank lines are nothing.
        if cells != [""] || rows.is_empty() {
            rows.push(Row { line: index + 1, cells });
        }
    }
    let width = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    if rows.len() == width + 1 && rows[0].cells == [""] && rows[1].cells.len() > 1 {
        rows.remove(0);
    }
    Ok(rows)
}

/// Labels of rows and columns, if the file has them, and the rows without.
fn take_labels(mut rows: Vec<Row<'_>>) -> (Option<Vec<u32>>, Vec<Row<'_>>) {
    let Some(head) = rows.first() else { return (None, rows) };
    let below = rows.len() - 1;
    // A symmetric matrix of whole numbers starts with the same row and column, too: only text and consecutive
    // numbers are labels there.
    let certain = |labels: &[u32]| {
        head.cells.concat().contains(char::is_alphabetic)
            || labels.windows(2).all(|pair| pair[0] + 1 == pair[1])
    };
    let beside = head.cells.len() == below + 1
        && below > 1
        && label_numbers(&head.cells[1..]).is_some_and(|labels| {
            certain(&labels)
                && rows[1..].iter().map(|row| label_number(row.cells[0])).eq(labels.into_iter().map(Some))
        });
    let above = head.cells.len() == below && label_numbers(&head.cells).is_some();
    if !beside && !above {
        return (None, rows);
    }
    let head = rows.remove(0);
    let labels = label_numbers(&head.cells[usize::from(beside)..]);
    if beside {
        for row in &mut rows {
            row.cells.remove(0);
        }
    }
    (labels, rows)
}

/// The rising numbers that a line of labels ends its cells with.
fn label_numbers(cells: &[&str]) -> Option<Vec<u32>> {
    let numbers: Option<Vec<u32>> = cells.iter().map(|cell| label_number(cell)).collect();
    numbers.filter(|numbers| !numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] < pair[1]))
}

/// 3 of `3`, `CPU3` or `cpu 3`; `None` for `3.5`.
fn label_number(cell: &str) -> Option<u32> {
    let name = cell.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.contains(|c: char| !c.is_alphabetic() && !matches!(c, ' ' | '_' | '#')) {
        return None;
    }
    cell[name.len()..].parse().ok()
}

/// Rows of 1, 2, 3 … times: the first CPU's row, which would be empty, was left out.
fn is_triangle_without_first_row(rows: &[Row<'_>]) -> bool {
    !rows.is_empty()
        && rows.iter().enumerate().all(|(index, row)| {
            row.cells.len() == index + 1
                && row.cells[index].parse::<f64>().is_ok_and(|time| time.is_finite() && time > 0.0)
        })
}

fn parse_time(cell: &str, line: usize, column: usize) -> Result<Option<f64>, Error> {
    if matches!(cell, "" | "-") || cell.eq_ignore_ascii_case("n/a") {
        return Ok(None);
    }
    match cell.parse::<f64>() {
        Ok(time) if time < 0.0 => Err(Error::at(line, column, format!("{time} is negative, no time"))),
        Ok(time) => Ok(time.is_finite().then_some(time)),
        Err(_) => {
            let shown: String = cell.chars().take(24).collect();
            Err(Error::at(
                line,
                column,
                format!(
                    "'{shown}' is no time in ns; expected comma-separated rows as core-to-core-latency --csv writes"
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
    }

    #[test]
    fn labels() {
        assert_eq!(assert_three("cpu,4,5,8\n4,,1.5,2\n5,1.5,,3\n8,2,3,\n").cpus(), [4, 5, 8]);
        assert_eq!(assert_three("CPU,CPU0,CPU1,CPU2\nCPU0,\nCPU1,1.5\nCPU2,2,3\n").cpus(), [0, 1, 2]);
        assert_eq!(assert_three(",0,1,2\n0,,1.5,2\n1,1.5,,3\n2,2,3,\n").cpus(), [0, 1, 2]);
        assert_eq!(Matrix::parse_csv(",20,90\n20,,91\n90,91,\n").unwrap().len(), 3);
        assert_eq!(assert_three("0,1,2\n,1.5,2\n1.5,,3\n2,3,\n").cpus(), [0, 1, 2]);
    }

    #[test]
    fn errors_name_the_place() {
        let error = Matrix::parse_csv(",1.5\nfast,\n").unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(2), Some(1)));
        assert!(error.to_string().starts_with("line 2, cell 1: 'fast' is no time"), "{error}");
        let error = Matrix::parse_csv("CPU: PPC970FX, altivec supported\nNum cores: 2\n").unwrap_err();
        assert!(error.to_string().contains("core-to-core-latency"), "{error}");
        assert_eq!(Matrix::parse_csv(",-3\n,\n").unwrap_err().column(), Some(2));
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        for text in ["", "\n\n", ",\n,\n", ",1,2\n1,,3\n", "1,2\n3,4\n5,6\n7,8\n", "0"] {
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
