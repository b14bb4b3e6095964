//! Matrices of times between CPUs, as programs write them and as people paste them.

mod blame;
mod cell;
mod clean;
mod csv;
mod pairs;
mod printed;

use crate::{Error, Matrix};
use clean::Line;

impl Matrix {
    /// Reads a matrix of times in ns from text: CSV, what core-to-core-latency and c2clat print, a markdown table, or a
    /// list of pairs under a line of names (`cpu_a,cpu_b,ns`).
    ///
    /// A printed table begins with a line of CPU numbers, and each row with its CPU's number. What stands before and
    /// after it, colours and prompts mean nothing, and neither does what follows `±`. CPUs whose rows were cut off have no
    /// times. Rows of CSV may be whole or hold one triangle only, with empty cells or `nan` where there is no figure. A
    /// line of labels above the rows and a label before each row are accepted (`0`, `CPU 3`); without them CPUs are
    /// numbered by position. Commas, semicolons, tabs or bars separate cells; lines that begin with `#` are comments.
    /// Decimals may follow a comma where it does not separate cells. Lists of lists are read as Python and JSON write them.
    ///
    /// ```
    /// let printed = "Num cores: 3\n\n       0    1    2\n  0\n  1  25±0\n  2  90±1  91±0\n\nMin latency: 25.0ns ±0.3\n";
    /// let matrix = coho_model::Matrix::parse(printed)?;
    /// assert_eq!((matrix.between(0, 1), matrix.between(1, 2)), (Some(25.0), Some(91.0)));
    /// # Ok::<(), coho_model::Error>(())
    /// ```
    ///
    /// # Errors
    /// With line and cell, if a cell is neither empty nor a time; with the line, if its length differs from that of the
    /// others, or the table is of NUMA nodes; if the rows form neither a square nor a triangle, name more than
    /// [`MAX_CPUS`](crate::MAX_CPUS) CPUs, or hold no figure.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let rows = bracketed(text);
        let lines = clean::lines(rows.as_deref().unwrap_or(text));
        refuse_nodes(&lines)?;
        if let Some(matrix) = printed::parse(&lines, false)? {
            return Ok(matrix);
        }
        if let Some(matrix) = pairs::parse(&lines)? {
            return Ok(matrix);
        }
        csv::parse(&lines).or_else(|error| match printed::parse(&lines, true) {
            Ok(Some(matrix)) => Ok(matrix),
            _ => Err(printed::lone_head(&lines).unwrap_or(error)),
        })
    }
}

/// The rows of a list of lists, as Python and JSON write it, each on a line of its own.
fn bracketed(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('[')?.trim_start().strip_prefix('[')?;
    let rows = inner.split(']').map(|row| row.trim_start().trim_start_matches([',', '[']).trim_start());
    let rows = rows.map(|row| row.trim_start_matches('[').replace(['\n', '\r'], " "));
    Some(rows.filter(|row| !row.trim().is_empty()).collect::<Vec<_>>().join("\n"))
}

/// Intel MLC prints latencies of sockets and NUMA nodes.
fn refuse_nodes(lines: &[Line<'_>]) -> Result<(), Error> {
    let is_of_nodes = |line: &&Line<'_>| {
        let words = printed::words_before_numbers(&line.text);
        line.text.contains("L2->L2 HIT") || words.is_some_and(|words| words.to_lowercase().contains("node"))
    };
    match lines.iter().find(is_of_nodes) {
        Some(line) => Err(Error::on(
            line.number,
            "latencies of sockets and NUMA nodes, as Intel MLC prints; a matrix has the times between CPUs",
        )),
        None => Ok(()),
    }
}
