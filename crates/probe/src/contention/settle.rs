//! The section's rows, from the figures of all passes.

use coho_profile::{ContentionRow, Estimate, LineOperation};

use super::survey::{Cell, Pass};
use super::window::Batch;
use crate::frame::Frame;
use crate::statistics::{estimate, estimate_of_passes, median_of};

/// A row for each cell that was visited; for the others, and for those without a figure, the frame records why.
pub(super) fn rows(cells: &[Cell], frame: &mut Frame<'_>) -> Vec<ContentionRow> {
    let mut rows = Vec::new();
    for cell in cells {
        let alone = cells.iter().find(|other| other.operation == cell.operation && other.cpus.len() == 1);
        let row = row(cell, alone.filter(|_| cell.cpus.len() > 1));
        let why = match (&cell.lost, row.ns.is_some(), row.preempted_batches) {
            (Some(error), ..) => Some(error.to_string()),
            (None, true, _) => None,
            (None, false, 0) => Some("the time was up before its turn".to_owned()),
            (None, false, _) => {
                Some("its CPUs were never seen to run at the same time for a whole batch".to_owned())
            }
        };
        if let Some(why) = why {
            let name = match cell.cpus.len() {
                1 => format!("{}, 1 CPU", cell.operation),
                n => format!("{}, {n} CPUs, {}", cell.operation, cell.mapping),
            };
            frame.lacks(name, why);
        }
        if row.ns.is_some() || row.preempted_batches > 0 {
            rows.push(row);
        }
    }
    rows
}

fn row(cell: &Cell, alone: Option<&Cell>) -> ContentionRow {
    let figure = |of: fn(&Batch) -> f64| {
        let passes = cell.passes.iter().map(|pass| pass.batches.iter().map(of).collect());
        estimate(&passes.collect::<Vec<_>>())
    };
    let is_cas = cell.operation == LineOperation::CompareAndSwap;
    ContentionRow {
        operation: cell.operation,
        mapping: cell.mapping.name().into(),
        cpus: cell.cpus.clone(),
        ns: figure(Batch::ns_each),
        operations_per_s: figure(Batch::per_s),
        times_alone: alone.and_then(|alone| times_alone(cell, alone)),
        shares: shares(cell),
        jain: figure(Batch::jain).map(at_most_one),
        least_over_most: figure(Batch::least_over_most).map(at_most_one),
        failures_per_success: is_cas.then(|| figure(|batch| batch.failures_per_success)).flatten(),
        preempted_batches: cell.passes.iter().map(|pass| pass.preempted).sum(),
    }
}

/// The ratio of the two times in each pass that has both.
fn times_alone(cell: &Cell, alone: &Cell) -> Option<Estimate> {
    let median = |pass: &Pass| median_of(pass.batches.iter().map(Batch::ns_each).collect());
    let ratio = |pass: &Pass| {
        let alone = alone.passes.iter().find(|other| other.number == pass.number)?;
        Some(median(pass)? / median(alone)?)
    };
    estimate_of_passes(cell.passes.iter().filter_map(ratio))
}

/// A share: what runs may differ by does not make it more than the whole.
fn at_most_one(share: Estimate) -> Estimate {
    Estimate { high: share.high.min(1.0f64.max(share.median)), ..share }
}

/// Each CPU's share of all operations.
fn shares(cell: &Cell) -> Vec<f64> {
    let mut of_each = vec![0.0; cell.cpus.len()];
    for batch in cell.passes.iter().flat_map(|pass| &pass.batches) {
        of_each.iter_mut().zip(&batch.operations).for_each(|(sum, n)| *sum += n);
    }
    let all: f64 = of_each.iter().sum();
    if all > 0.0 { of_each.iter().map(|n| n / all).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use coho_sync::Mapping;

    use super::*;
    use crate::Course;

    fn cell(cpus: &[u32], passes: &[&[&[f64]]]) -> Cell {
        let batch = |operations: &&[f64]| Batch {
            ns: 1000.0,
            operations: operations.to_vec(),
            failures_per_success: 0.25,
        };
        let pass = |(number, batches): (usize, &&[&[f64]])| Pass {
            number,
            batches: batches.iter().map(batch).collect(),
            preempted: 1,
        };
        Cell {
            operation: LineOperation::CompareAndSwap,
            mapping: Mapping::Sequential,
            cpus: cpus.to_vec(),
            passes: passes.iter().enumerate().map(pass).collect(),
            lost: None,
        }
    }

    #[test]
    fn rows_tell_time_throughput_and_fairness() {
        let cells = [
            cell(&[0], &[&[&[100.0]], &[&[50.0]]]),
            cell(&[0, 1], &[&[&[15.0, 5.0], &[15.0, 5.0]], &[&[10.0, 10.0]]]),
        ];
        let mut ignore = |_| ();
        let mut frame = Frame::bare(&Course::on([0, 1, 2, 3]), &mut ignore);
        let rows = rows(&cells, &mut frame);
        assert!(frame.method.not_available.is_empty(), "{:?}", frame.method);
        let median = |estimate: &Option<Estimate>| estimate.as_ref().unwrap().median;
        assert_eq!((rows[0].shares.clone(), rows[0].times_alone.clone()), (vec![1.0], None));
        // 20 operations of two CPUs in 1 us.
        assert_eq!((median(&rows[1].ns), median(&rows[1].operations_per_s)), (100.0, 2e7));
        assert_eq!(rows[1].shares, [40.0 / 60.0, 20.0 / 60.0]);
        assert_eq!((median(&rows[1].jain), median(&rows[1].least_over_most)), (0.8, 1.0 / 3.0));
        // Ten times in the first pass, five times in the second.
        assert_eq!(median(&rows[1].times_alone), 7.5);
        assert_eq!((median(&rows[1].failures_per_success), rows[1].preempted_batches), (0.25, 2));
    }

    #[test]
    fn what_has_no_figure_has_a_reason() {
        let mut lost = cell(&[0, 1, 2, 3], &[]);
        lost.lost = Some(crate::Error::cpu(3, "it is offline"));
        let cells = [cell(&[0], &[]), cell(&[0, 1], &[&[]]), lost];
        let mut ignore = |_| ();
        let mut frame = Frame::bare(&Course::on([0, 1, 2, 3]), &mut ignore);
        let rows = rows(&cells, &mut frame);
        assert_eq!(rows.len(), 1, "only what was visited");
        assert!(rows[0].ns.is_none() && rows[0].shares.is_empty() && rows[0].preempted_batches == 1);
        let why = |of: &str| &frame.method.not_available[&format!("compare-and-swap, {of}")];
        assert!(why("1 CPU").contains("time was up"));
        assert!(why("2 CPUs, sequential").contains("never") && why("4 CPUs, sequential").contains("CPU 3"));
    }
}
