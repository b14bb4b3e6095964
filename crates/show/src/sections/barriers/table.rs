//! Every barrier's time.

use std::collections::BTreeMap;

use coho_profile::{BarrierTime, Estimate, Mode, Sync};

use super::{LIMIT, key, shown};
use crate::sections::prelude::*;

/// A longer table shows the largest team and each team's quickest first.
const FEW: usize = 12;

pub(super) fn barriers<'a>(subject: &Subject, sync: &'a Sync) -> TableOf<&'a BarrierTime> {
    let beside_limit = || sync.barriers.iter().filter_map(|row| row.times_limit);
    let of_regions = sync.fork_join.iter().filter_map(|row| row.times_limit);
    let is_any_below = beside_limit().chain(of_regions).any(|times| times < 1.0);
    Table::of("barriers", "", &sync.barriers)
        .text("barrier", |row| words::barrier(&row.algorithm, &row.layout))
        .figures("threads", "", |row| row.threads)
        .text("mapping", |row| row.mapping.as_str())
        .compared("", "ns", "ns", |row| subject.figure_of(&row.ns))
        .figures("× limit", "", |row| row.times_limit)
        .column(Column::text("jumps between, ns").detail(), |row| row.ns.as_ref().and_then(modes))
        .keyed(|row| {
            let (id, label) = key(&row.algorithm, &row.layout, row.threads, &row.mapping);
            (format!("sync.barrier.{id}"), format!("barrier, {label}"))
        })
        .detail_if(|row| sync.barriers.len() > FEW && !is_telling(sync, row))
        .note_if(
            beside_limit().next().is_some(),
            "× limit: over the one-way time on the lines of the barrier's own flags, if it has flags.",
        )
        .note_if(
            is_any_below,
            format!("Below 1: {LIMIT}; a barrier that takes less than one comes out below."),
        )
}

/// Whether it belongs to the largest team, by sequential mapping if it has that, or is the quickest of its own.
fn is_telling(sync: &Sync, row: &BarrierTime) -> bool {
    let largest = sync.barriers.iter().max_by_key(|other| (other.threads, other.mapping == "sequential"));
    let is_mate = |other: &&BarrierTime| (other.threads, &other.mapping) == (row.threads, &row.mapping);
    let ns = |row: &BarrierTime| row.ns.as_ref().map_or(f64::INFINITY, |ns| ns.median);
    let mut mates = sync.barriers.iter().filter(is_mate);
    largest.is_some_and(|largest| is_mate(&largest)) || mates.all(|other| ns(other) >= ns(row))
}

/// Between which values a figure jumps, where it does.
fn modes(estimate: &Estimate) -> Option<String> {
    let jumps = estimate.stable == Some(false) && estimate.modes.len() > 1;
    let mode =
        |mode: &Mode| format!("{} ({} %)", words::number(mode.value), words::number(100.0 * mode.share));
    jumps.then(|| words::joined(estimate.modes.iter().take(3).map(mode), ", "))
}

/// The limit of each team; of equal teams by several mappings the least.
pub(super) fn limits(sync: &Sync) -> BTreeMap<u32, f64> {
    let mut limits = BTreeMap::new();
    for row in &sync.barriers {
        let times = row.times_limit.filter(|times| scale::is_time(*times));
        if let Some((ns, times)) = shown(&row.ns).zip(times) {
            let limit = limits.entry(row.threads).or_insert(f64::INFINITY);
            *limit = limit.min(ns.median / times);
        }
    }
    limits
}
