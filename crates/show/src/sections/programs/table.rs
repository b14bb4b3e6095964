//! Every run of a program.

use std::collections::BTreeSet;

use coho_profile::{Estimate, Kernel, KernelPoint};

use super::{is_loop, median, team};
use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Column, Table};
use crate::sections::barriers;
use crate::words;

/// A longer table shows some sizes of a loop, or an application's largest, of one thread and the largest team.
const FEW: usize = 12;
/// How many sizes of a loop it shows.
const SIZES: usize = 4;

pub(super) fn points(subject: &Subject, name: &str, kernel: &Kernel) -> Table {
    let size = |point: &KernelPoint| point.length.or(point.size);
    let sizes = Vec::from_iter(BTreeSet::from_iter(kernel.points.iter().filter_map(size)));
    let last = sizes.len().saturating_sub(1);
    let shown: Vec<u64> = match is_loop(kernel) {
        true => (0..SIZES).filter_map(|at| sizes.get(at * last / (SIZES - 1)).copied()).collect(),
        false => sizes.last().copied().into_iter().collect(),
    };
    let largest = kernel.points.iter().map(|point| point.threads).max();
    let us = |of: &Option<Estimate>| Some(subject.scaled(of, 1e6)?.format(Format::Plain));
    let waits = |point: &KernelPoint| point.threads > 1;
    Table::of(words::short(name, 40), words::short(name, 40), &kernel.points)
        .figures(if is_loop(kernel) { "length" } else { "size" }, "", |point| point.size.or(point.length))
        .text("team", team)
        .compared("time", "us", "us", |point| us(&point.seconds))
        .column(Column::figures("waiting", "us").compared("waiting.us").detail(), |point| {
            us(&point.sync_seconds).filter(|_| waits(point))
        })
        .figures("waiting", "", |point| {
            let share = median(&point.sync_seconds)? / median(&point.seconds)?;
            waits(point).then(|| Figure::exact(share).format(Format::Percent))
        })
        .figures("GFLOP/s", "", |point| median(&point.gflops))
        .detail_if(|point| {
            let is_shown = size(point).is_some_and(|size| shown.contains(&size));
            let is_shown = is_shown && (point.threads == 1 || Some(point.threads) == largest);
            kernel.points.len() > FEW && !is_shown
        })
        .keyed_where(|point| {
            let size = size(point)?;
            let (id, label) = barriers::key(&point.barrier, "", point.threads, &point.mapping);
            Some((format!("sync.{name}.{size}.{id}"), format!("{name} of {size}, {label}")))
        })
        .done()
}
