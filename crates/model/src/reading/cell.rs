//! One cell of a table.

use crate::Error;

/// What divides a time from the error that is printed behind it.
const ERRORS: [&str; 4] = ["±", "+/-", "+-", "?"];

/// The time of a cell in ns; `None` where there is none.
///
/// # Errors
/// If the cell holds something else.
pub(super) fn time(cell: &str, line: usize, column: usize) -> Result<Option<f64>, Error> {
    let figure = ERRORS.iter().find_map(|error| Some(cell.split_once(error)?.0)).unwrap_or(cell);
    let figure = figure.trim_end();
    let figure = figure.strip_suffix("ns").map_or(figure, str::trim_end);
    if matches!(figure, "" | "-" | "--" | "–" | "—")
        || ["n/a", "x", "none", "null"].iter().any(|no| figure.eq_ignore_ascii_case(no))
    {
        return Ok(None);
    }
    match number(figure) {
        Some(time) if time < 0.0 => {
            Err(Error::at(line, column, format!("{time} is negative, so it is not a time")))
        }
        Some(time) if time.is_infinite() => Err(Error::at(line, column, "a time cannot be infinite")),
        Some(time) => Ok((!time.is_nan()).then_some(time)),
        None => {
            let shown: String = cell.chars().take(24).collect();
            Err(Error::at(
                line,
                column,
                format!(
                    "'{shown}' is not a time in ns; expected rows as core-to-core-latency prints, with --csv or without"
                ),
            ))
        }
    }
}

/// A number whose decimals follow a point, or a comma.
pub(super) fn number(text: &str) -> Option<f64> {
    match text.split_once(',') {
        Some((whole, decimals)) => {
            let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
            let is_number = is_digits(whole.trim_start_matches('-')) && is_digits(decimals);
            is_number.then(|| format!("{whole}.{decimals}").parse().ok()).flatten()
        }
        None => text.parse().ok(),
    }
}

/// The increasing numbers of a line of labels.
pub(super) fn label_numbers<'a>(cells: impl IntoIterator<Item = &'a str>) -> Option<Vec<u32>> {
    let numbers: Option<Vec<u32>> = cells.into_iter().map(label_number).collect();
    numbers.filter(|numbers| !numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] < pair[1]))
}

/// 3 for `3`, `CPU3` or `cpu 3`; `None` for `3.5`.
pub(super) fn label_number(cell: &str) -> Option<u32> {
    let name = cell.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.contains(|c: char| !c.is_alphabetic() && !matches!(c, ' ' | '_' | '#')) {
        return None;
    }
    cell[name.len()..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_any_dress() {
        for cell in
            ["25.5", "25,5", "25.5±0", "25.5 ± 0.1", "25.5?0", "25.5+/-1", "25.5ns", "25.5 ns", "2.55e1"]
        {
            assert_eq!(time(cell, 1, 1), Ok(Some(25.5)), "{cell}");
        }
        for cell in ["", "-", "n/a", "N/A", "nan", "NaN", "—", "x"] {
            assert_eq!(time(cell, 1, 1), Ok(None), "{cell}");
        }
        for cell in ["fast", "1,234,5", "1.234,5", ",5", "25us", "25%", "inf", "-3"] {
            assert_eq!(time(cell, 3, 2).unwrap_err().line(), Some(3), "{cell}");
        }
    }
}
