//! Turns the passes' times into the section's rows, limits and ratios.

use std::collections::BTreeMap;

use coho_profile::{BarrierTime, Estimate, ForkJoinTime, PairMethod, Sync, SyncLimit, SyncPeer};
use coho_sync::Algorithm;
use coho_topology::CpuSet;

use super::cell::{Cell, Pass, Subject, fork_join_name, median};
use super::limit::{self, OneWay, Ways};
use super::survey::MANY;
use super::{barrier_name, layout_name};
use crate::frame::Frame;
use crate::statistics;

/// Theirs over ours, pass by pass.
fn ratio(theirs: &[(usize, f64)], ours: &[(usize, f64)]) -> Option<Estimate> {
    let ours: BTreeMap<usize, f64> = ours.iter().copied().collect();
    let ratios = theirs.iter().filter_map(|(pass, theirs)| Some(theirs / ours.get(pass)?));
    statistics::estimate_of_passes(ratios)
}

/// Each pass's median.
fn medians(cell: &Cell, of: fn(&Pass) -> &Vec<f64>) -> Vec<(usize, f64)> {
    cell.passes.iter().filter_map(|pass| Some((pass.number, median(of(pass))?))).collect()
}

/// Puts the figures of all passes into the section.
pub(super) fn settle(sync: &mut Sync, cells: &[Cell], ways: &[Ways], frame: &mut Frame<'_>) {
    let cpus = frame.cpus.clone();
    let limit = |of: fn(&OneWay, &[u32]) -> Option<f64>| {
        statistics::estimate_of_passes(ways.iter().filter_map(|ways| of(&ways.least, &cpus)))
    };
    let by_flags = statistics::estimate(&own_limits(cells, ways, &cpus));
    let barrier_by = by_flags.is_some().then_some(PairMethod::Flags);
    sync.limit_ns = by_flags
        .or_else(|| limit(limit::of_barrier))
        .zip(limit(limit::of_fork_join))
        .map(|(barrier, fork_join)| SyncLimit { barrier, barrier_by, fork_join });
    if sync.limit_ns.is_none() {
        let why = if cpus.len() > MANY { "too many pairs to measure in every pass" } else { "no pair met" };
        frame.lacks("limit", why);
    }
    for cell in cells {
        if let Some(why) = &cell.lost {
            frame.lacks(cell.name(), why.to_string());
        }
        match &cell.subject {
            // Auto is only what the peers are compared with; its algorithm has a row of its own.
            Subject::Barrier(Algorithm::Auto, _) => {}
            Subject::Barrier(algorithm, _) => sync.barriers.push(BarrierTime {
                algorithm: barrier_name(*algorithm),
                layout: layout_name(*algorithm).into(),
                threads: cell.threads(),
                mapping: cell.mapping.to_string(),
                ns: cell.estimate(|pass| &pass.times),
                times_limit: cell.times_limit(|pass| {
                    let on_other_lines = || limit::of_barrier(&ways.get(pass.number)?.least, &cell.cpus);
                    cell.own_limit(pass, ways).or_else(on_other_lines)
                }),
            }),
            Subject::ForkJoin(algorithm, _) => sync.fork_join.push(ForkJoinTime {
                algorithm: fork_join_name(*algorithm),
                by: if *algorithm == Algorithm::Auto { "go-flag" } else { "barrier" }.into(),
                threads: cell.threads(),
                mapping: cell.mapping.to_string(),
                fork_ns: cell.estimate(|pass| &pass.fork),
                join_ns: cell.estimate(|pass| &pass.join),
                total_ns: cell.estimate(|pass| &pass.times),
                times_limit: cell.times_limit(|pass| {
                    let ways = ways.get(pass.number)?;
                    let is_by_flags = matches!(algorithm, Algorithm::Fbs | Algorithm::FbsOneLine);
                    limit::of_fork_join(if is_by_flags { &ways.flags } else { &ways.least }, &cell.cpus)
                }),
            }),
            Subject::Local(local) => {
                sync.peers.push(peer(
                    local.name(),
                    "barrier",
                    cell,
                    |pass| &pass.times,
                    |_| our_barrier(cells, cell),
                ));
            }
            Subject::OpenMp(..) => {
                let name = cell.name();
                let name = name.split(',').next().unwrap_or_default();
                sync.peers.push(peer(
                    name,
                    "barrier",
                    cell,
                    |pass| &pass.times,
                    |cell| medians(cell, |pass| &pass.ours),
                ));
                sync.peers.push(peer(
                    name,
                    "fork-join",
                    cell,
                    |pass| &pass.regions,
                    |_| our_team(cells, cell),
                ));
            }
        }
    }
}

/// For each pass, the limits of the barriers across all CPUs on the lines of their own flags.
fn own_limits(cells: &[Cell], ways: &[Ways], cpus: &[u32]) -> Vec<Vec<f64>> {
    let allowed: CpuSet = cpus.iter().copied().collect();
    let mut passes = vec![Vec::new(); ways.len()];
    for cell in cells.iter().filter(|cell| cell.cpus.iter().copied().collect::<CpuSet>() == allowed) {
        for pass in &cell.passes {
            passes[pass.number].extend(cell.own_limit(pass, ways));
        }
    }
    passes
}

fn peer(
    name: &str,
    operation: &str,
    cell: &Cell,
    of: fn(&Pass) -> &Vec<f64>,
    ours: impl FnOnce(&Cell) -> Vec<(usize, f64)>,
) -> SyncPeer {
    SyncPeer {
        name: name.into(),
        operation: operation.into(),
        threads: cell.threads(),
        ns: cell.estimate(of),
        ratio: ratio(&medians(cell, of), &ours(cell)),
        not_available: cell.lost.clone(),
    }
}

/// Our own barrier's medians on the same CPUs, with the algorithm that Auto chooses.
fn our_barrier(cells: &[Cell], beside: &Cell) -> Vec<(usize, f64)> {
    let same = |cell: &&Cell| {
        cell.cpus == beside.cpus && matches!(cell.subject, Subject::Barrier(Algorithm::Auto, _))
    };
    cells.iter().find(same).map_or_else(Vec::new, |cell| medians(cell, |pass| &pass.times))
}

/// Our own team's medians on the same CPUs.
fn our_team(cells: &[Cell], beside: &Cell) -> Vec<(usize, f64)> {
    let same = |cell: &&Cell| {
        cell.cpus == beside.cpus && matches!(cell.subject, Subject::ForkJoin(Algorithm::Auto, _))
    };
    cells.iter().find(same).map_or_else(Vec::new, |cell| medians(cell, |pass| &pass.times))
}
