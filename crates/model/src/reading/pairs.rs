//! Lists of pairs under a line of names: `cpu_a,cpu_b,ns`.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{label_number, label_numbers, number, time};
use super::clean::Line;
use super::csv::{Row, separator};
use crate::{Error, MAX_CPUS, Matrix};

/// What a column of times is called, the preferred statistic first.
const TIMES: [&str; 5] = ["median", "mean", "avg", "latency", "ns"];
/// Units other than ns.
const OTHER_UNITS: [&str; 5] = ["cycle", "_us", "(us", "_ms", "mhz"];

/// The matrix of a list, if the text is one.
///
/// # Errors
/// If a cell is neither a CPU nor a time, or the times are not in ns.
pub(super) fn parse(lines: &[Line<'_>]) -> Result<Option<Matrix>, Error> {
    let separator = separator(lines);
    let mut rows = lines.iter().filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
    let mut rows = rows.by_ref().map(|line| Row::new(line.number, &line.text, separator));
    let Some(head) = rows.next() else { return Ok(None) };
    let names: Vec<String> = head.cells().map(str::to_lowercase).collect();
    let is_name = |name: &String| !name.is_empty() && number(name).is_none();
    // The line of labels above a matrix.
    let is_labels = label_numbers(names.iter().skip(1).map(String::as_str)).is_some();
    let rows: Vec<Row<'_>> = rows.collect();
    let is_pair = |row: &Row<'_>| {
        let mut cells = row.cells();
        let cpus = [cells.next(), cells.next()];
        row.width == names.len() && cpus.iter().all(|cpu| cpu.and_then(label_number).is_some())
    };
    if names.len() < 3
        || is_labels
        || !names.iter().all(is_name)
        || rows.is_empty()
        || !rows.iter().take(3).all(is_pair)
    {
        return Ok(None);
    }
    let named = TIMES.iter().find_map(|time| names.iter().skip(2).position(|name| name.contains(time)));
    let Some(column) = named.map(|at| at + 2).or((names.len() == 3).then_some(2)) else { return Ok(None) };
    if OTHER_UNITS.iter().any(|unit| names[column].contains(unit)) {
        let why = format!("'{}' is not a time in ns", names[column]);
        return Err(Error::at(head.line, column + 1, why));
    }
    let mut times: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for row in &rows {
        let mut cpus = [0, 0];
        for (at, cell) in row.cells().enumerate() {
            if at < 2 {
                let no_cpu = || Error::at(row.line, at + 1, format!("'{cell}' is not a CPU"));
                cpus[at] = label_number(cell).ok_or_else(no_cpu)?;
            } else if at == column
                && let Some(ns) = time(cell, row.line, at + 1)?
                && times.insert((cpus[0], cpus[1]), ns).is_some()
            {
                return Err(Error::on(
                    row.line,
                    format!("a second time of CPUs {} and {}", cpus[0], cpus[1]),
                ));
            }
        }
    }
    let cpus: BTreeSet<u32> = times.keys().flat_map(|&(a, b)| [a, b]).collect();
    let n = cpus.len();
    if n < 2 || times.keys().all(|(a, b)| a == b) {
        return Err(Error::new("contains no time between two CPUs"));
    }
    if n > MAX_CPUS {
        return Err(Error::new(format!("{n} CPUs; a matrix may have {MAX_CPUS}")));
    }
    let position: BTreeMap<u32, usize> = cpus.iter().enumerate().map(|(at, &cpu)| (cpu, at)).collect();
    let mut ns = vec![f64::NAN; n * n];
    for ((a, b), time) in times {
        ns[position[&a] * n + position[&b]] = time;
    }
    Matrix::new(cpus.into_iter().collect(), ns).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_pairs_is_a_matrix() {
        for text in [
            "cpu_a,cpu_b,ns\n0,1,25\n0,4,90.5\n1,4,91\n",
            "from;to;latency;sd\n0;1;25,0;1\n0;4;90,5;1\n1;4;91;1\n",
            "core1\tcore2\tmin_ns\tmedian_ns\n0\t1\t20\t25\n0\t4\t1\t90.5\n1\t4\t1\t91\n",
        ] {
            let matrix = Matrix::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(matrix.cpus(), [0, 1, 4], "{text}");
            assert_eq!(matrix.pairs().map(|(.., ns)| ns).collect::<Vec<_>>(), [25.0, 90.5, 91.0], "{text}");
        }
        let line = |text| Matrix::parse(text).unwrap_err().line();
        assert_eq!(line("a,b,cycles\n0,1,25\n"), Some(1));
        assert_eq!(line("a,b,ns\n0,1,25\n0,2,fast\n"), Some(3));
        assert_eq!(line("a,b,ns\n0,1,25\n0,1,26\n"), Some(3));
        assert_eq!(line("a,b,ns\n0,1,25\n0,2,9\n1,2,3\ny,1,26\n"), Some(5));
    }
}
