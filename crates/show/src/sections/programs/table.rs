//! Every run of a program.

use coho_profile::{Estimate, Kernel, KernelPoint};

use super::{is_loop, median, team};
use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Row, Table};
use crate::sections::barriers;
use crate::words;

/// A table of more rows shows but some sizes, and the largest team.
const FEW: usize = 12;
/// So many sizes are shown then.
const SIZES: usize = 4;

pub(super) fn points(subject: &Subject, name: &str, kernel: &Kernel) -> Table {
    let mut sizes: Vec<u64> = kernel.points.iter().filter_map(|point| point.length.or(point.size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let last = sizes.len().saturating_sub(1);
    let some: Vec<u64> = (0..SIZES).filter_map(|at| sizes.get(at * last / (SIZES - 1)).copied()).collect();
    let largest = kernel.points.iter().map(|point| point.threads).max();
    let rows = kernel.points.iter().map(|point| {
        let row = row(subject, name, point);
        let size = point.length.or(point.size);
        let is_told = size.is_some_and(|size| match is_loop(kernel) {
            true => some.contains(&size),
            false => Some(&size) == sizes.last(),
        });
        let is_told = is_told && (point.threads == 1 || Some(point.threads) == largest);
        if kernel.points.len() <= FEW || is_told { row } else { row.detail() }
    });
    let size = if is_loop(kernel) { "length" } else { "size" };
    Table::new(words::short(name, 40), words::short(name, 40))
        .columns([
            Column::figures(size, ""),
            Column::text("team"),
            Column::figures("time", "us").compared("us"),
            Column::figures("waiting", "us").compared("waiting.us").detail(),
            Column::figures("waiting", ""),
            Column::figures("GFLOP/s", ""),
        ])
        .rows(rows)
}

fn row(subject: &Subject, name: &str, point: &KernelPoint) -> Row {
    let us = |of: &Option<Estimate>| {
        let figure = of.as_ref().map(|seconds| subject.figure(seconds).scaled(1e6).format(Format::Plain));
        Cell::maybe(figure)
    };
    let waits = point.threads > 1;
    let share = median(&point.sync_seconds).zip(median(&point.seconds)).filter(|_| waits);
    let share = share.map(|(waiting, all)| Figure::exact(waiting / all).format(Format::Percent));
    let size = point.size.or(point.length);
    let row = Row::new([
        size.map_or(Cell::Nothing, |size| Figure::count(size).into()),
        team(point).into(),
        us(&point.seconds),
        if waits { us(&point.sync_seconds) } else { Cell::Nothing },
        Cell::maybe(share),
        Cell::maybe(median(&point.gflops)),
    ]);
    let Some(size) = point.length.or(point.size) else { return row };
    let (id, label) = barriers::key(&point.barrier, "", point.threads, &point.mapping);
    row.keyed(format!("sync.{name}.{size}.{id}"), format!("{name} of {size}, {label}"))
}
