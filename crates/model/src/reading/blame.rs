//! Which of the rows does not fit the others.

use std::collections::BTreeMap;

use crate::Error;

/// What is wrong with rows that are neither a square nor a triangle, given their lines and lengths: most rows of a square
/// are equally long, and most of a triangle are one cell longer than the row before, or one shorter.
pub(super) fn odd_row(rows: &[(usize, usize)]) -> Error {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, cells) in rows {
        *numbers.entry(*cells).or_default() += 1;
    }
    let most =
        numbers.iter().max_by_key(|(_, number)| **number).map_or((0, 0), |(cells, number)| (*cells, *number));
    let (usual, number) = most;
    if 2 * number > rows.len() {
        // The last row may end before the diagonal.
        let (last, before) = rows.split_last().unwrap_or((&(0, 0), &[]));
        let odd = before.iter().find(|(_, cells)| *cells != usual);
        let odd = odd.or(Some(last).filter(|(_, cells)| *cells != usual && *cells + 1 != usual));
        return match odd {
            Some(&(line, cells)) => differs(line, cells, &format!("most rows have {usual}"), cells > usual),
            None => Error::new(format!(
                "{} rows of {usual} times are neither a square nor a triangle",
                rows.len()
            )),
        };
    }
    let steps: Vec<isize> = rows.windows(2).map(|pair| pair[1].1 as isize - pair[0].1 as isize).collect();
    for step in [1, -1] {
        if 2 * steps.iter().filter(|other| **other == step).count() <= steps.len() {
            continue;
        }
        // The first row of a lower triangle may have one cell that is empty.
        let is_odd = |(at, other): (usize, &isize)| *other != step && (at, *other, step) != (0, 0, 1);
        let Some(at) = steps.iter().enumerate().position(is_odd) else { continue };
        let is_first = at == 0 && rows[0].1 > 1 && steps.get(1) == Some(&step);
        let odd = if is_first { 0 } else { at + 1 };
        let (line, cells) = rows[odd];
        if is_first {
            return differs(line, cells, "the rows behind it are a triangle", false);
        }
        let expected = rows[at].1.saturating_add_signed(step);
        return differs(
            line,
            cells,
            &format!("{expected} would follow from the rows before"),
            cells > expected,
        );
    }
    let [(line, first), ..] = rows else { return Error::new("contains no rows") };
    let why =
        format!("{} rows, of {first} cells here, are neither a square of times nor a triangle", rows.len());
    Error::on(*line, why)
}

fn differs(line: usize, cells: usize, where_others: &str, is_longer: bool) -> Error {
    let perhaps = if is_longer { "; perhaps two rows run together" } else { "" };
    Error::on(line, format!("{cells} cells, where {where_others}{perhaps}"))
}
