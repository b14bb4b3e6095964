//! Every barrier's time.

use std::collections::BTreeMap;

use coho_profile::{BarrierTime, Estimate, Sync};

use super::{LIMIT, key, name};
use crate::Subject;
use crate::figure::Figure;
use crate::part::{Cell, Column, Row, Table};
use crate::words;

/// A table of more rows shows the largest team and each team's quickest first.
const FEW: usize = 12;

pub(super) fn barriers(subject: &Subject, sync: &Sync) -> Table {
    let rows = sync.barriers.iter().map(|one| {
        let row = row(subject, one);
        if sync.barriers.len() <= FEW || is_telling(sync, one) { row } else { row.detail() }
    });
    let mut table = Table::new("barriers", "")
        .columns([
            Column::text("barrier"),
            Column::figures("threads", ""),
            Column::text("mapping"),
            Column::figures("", "ns").compared("ns"),
            Column::figures("× limit", ""),
            Column::text("jumps between, ns").detail(),
        ])
        .rows(rows);
    if sync.barriers.iter().any(|row| row.times_limit.is_some()) {
        table = table
            .note("× limit: over the one-way time on the lines of the barrier's own flags, if it has flags.");
    }
    let below = |times: Option<f64>| times.is_some_and(|times| times < 1.0);
    if sync.barriers.iter().any(|row| below(row.times_limit))
        || sync.fork_join.iter().any(|row| below(row.times_limit))
    {
        table = table.note(format!("Below 1: {LIMIT}; a barrier that takes less than one comes out below."));
    }
    table
}

/// Whether it belongs to the largest team, by the first mapping that it has, or is the quickest of its own.
fn is_telling(sync: &Sync, row: &BarrierTime) -> bool {
    let largest = sync.barriers.iter().max_by_key(|other| (other.threads, other.mapping == "sequential"));
    let is_mate = |other: &&BarrierTime| (other.threads, &other.mapping) == (row.threads, &row.mapping);
    let ns = |row: &BarrierTime| row.ns.as_ref().map_or(f64::INFINITY, |ns| ns.median);
    let mut mates = sync.barriers.iter().filter(is_mate);
    largest.is_some_and(|largest| is_mate(&largest)) || mates.all(|other| ns(other) >= ns(row))
}

fn row(subject: &Subject, row: &BarrierTime) -> Row {
    let (id, label) = key(&row.algorithm, &row.layout, row.threads, &row.mapping);
    Row::new([
        name(&row.algorithm, &row.layout).into(),
        Figure::count(row.threads).into(),
        row.mapping.clone().into(),
        Cell::maybe(row.ns.as_ref().map(|ns| subject.figure(ns))),
        Cell::maybe(row.times_limit),
        row.ns.as_ref().map_or(Cell::Nothing, modes),
    ])
    .keyed(format!("sync.barrier.{id}"), format!("barrier, {label}"))
}

/// Between which values a figure jumps, where it does.
fn modes(estimate: &Estimate) -> Cell {
    if estimate.stable != Some(false) || estimate.modes.len() < 2 {
        return Cell::Nothing;
    }
    let modes = estimate
        .modes
        .iter()
        .take(3)
        .map(|mode| format!("{} ({} %)", words::number(mode.value), words::number(100.0 * mode.share)));
    modes.collect::<Vec<_>>().join(", ").into()
}

/// The limit of each team; of equal teams by several mappings the least.
pub(super) fn limits(sync: &Sync) -> BTreeMap<u32, f64> {
    let mut limits: BTreeMap<u32, f64> = BTreeMap::new();
    for row in &sync.barriers {
        if let (Some(ns), Some(times)) =
            (super::shown(&row.ns), row.times_limit.filter(|times| crate::scale::is_time(*times)))
        {
            let limit = limits.entry(row.threads).or_insert(f64::INFINITY);
            *limit = limit.min(ns.median / times);
        }
    }
    limits
}
