//! Both CPUs increment one line as fast as they can (Kawabe & Furuya, measurements 2 to 5).
//!
//! Only the leader keeps a log: of each batch its time, its own increments, and the line's value, which the last
//! increment of the batch returns. The increase beyond the leader's own increments is the follower's share, so nothing
//! else is read or written while both CPUs contend for the line. By that share, not by the time, the leader recognises
//! batches in which one CPU was away: if a figure jumps because the host has moved a CPU, the share stays the same.
//!
//! All runs of a pass use one line, as the paper does; another pass uses another, as for `turn` and `flags`.
//!
//! Ownership changes come from a second run, in which every increment is an XADD that compares what it found with
//! what the leader had left: each difference is one acquisition of the line by the leader, and one by the follower
//! before it.

use std::time::Duration;

use super::increment;
use super::line::Two;
use super::patience::{LOST, Patience};
use super::run::{Batch, Effort, Run, Sample};
use super::sync::Ordering::{Acquire, Release};
use crate::statistics;

/// Increments between two checks by the follower whether the run is over.
const CHUNK: u64 = 64;
/// The follower's time limit; the leader's longest run takes a fraction of it.
const LONGEST: Duration = Duration::from_millis(5);

/// A batch of the leader: time, its own increments, those of both, and acquisitions of the line if counted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    ns: f64,
    own: u64,
    both: u64,
    acquisitions: u64,
}

impl Entry {
    /// The follower's increments for each of the leader's.
    fn share(&self) -> f64 {
        self.both.saturating_sub(self.own) as f64 / self.own as f64
    }
}

/// Leads a run. With `counting`, the batches' figures are ownership changes per increment instead of ns.
pub(crate) fn lead(lines: Two<'_>, run: u32, counting: bool, effort: &Effort, own: &mut u64) -> Run {
    let clock = effort.patience.clock;
    let mut log: Vec<Entry> = Vec::with_capacity(effort.most * 2);
    let alone = clock.ticks(LOST);
    let mut alone_since = clock.now();
    let mut broken = false;
    let mut value = increment::locked(lines.first, 1);
    let mut calibrated = false;
    let mut start = clock.now();
    while log.len() < effort.most {
        let (before, mut acquisitions) = (value, 0);
        if counting {
            acquisitions = increment::locked_counting(lines.first, *own, &mut value);
        } else {
            value = increment::locked(lines.first, *own);
        }
        let end = clock.now();
        let ticks = end - start;
        let entry = Entry { ns: clock.ns(ticks), own: *own, both: value.wrapping_sub(before), acquisitions };
        if entry.both > entry.own {
            alone_since = end;
            if calibrated {
                log.push(entry);
            } else {
                calibrated = ticks * 5 >= effort.batch * 4;
                let factor = (effort.batch as f64 / ticks.max(1) as f64).clamp(0.5, 4.0);
                *own = ((*own as f64 * factor) as u64).clamp(16, 1 << 20);
            }
        } else if end - alone_since > alone {
            broken = true;
            break;
        } else if calibrated {
            log.push(entry);
        }
        let enough = log.len() >= effort.fewest
            && log.len().is_multiple_of(8)
            && effort.is_enough(&batches(&log, counting), 1);
        if enough {
            break;
        }
        start = clock.now();
    }
    lines.second.store(u64::from(run), Release);
    Run { batches: batches(&log, counting), broken }
}

/// Increments until the leader says that the run is over; returns how often.
pub(crate) fn follow(lines: Two<'_>, run: u32, counting: bool, patience: &Patience) -> u64 {
    let longest = patience.clock.ticks(LONGEST);
    let start = patience.clock.now();
    let mut total = 0;
    let mut last = 0;
    while lines.second.load(Acquire) != u64::from(run) && patience.clock.now() - start < longest {
        if counting {
            increment::locked_counting(lines.first, CHUNK, &mut last);
        } else {
            increment::locked(lines.first, CHUNK);
        }
        total += CHUNK;
    }
    total
}

fn batches(log: &[Entry], counting: bool) -> Vec<Batch> {
    let mut shares: Vec<_> = log.iter().map(Entry::share).filter(|&share| share > 0.0).collect();
    shares.sort_by(f64::total_cmp);
    let usual = statistics::median(&shares);
    log.iter()
        .enumerate()
        .map(|(number, entry)| {
            // Time per increment and CPU: both CPUs' increments fall in the batch's time.
            let per_increment = 2.0 / entry.both as f64;
            let figure = if counting { entry.acquisitions as f64 } else { entry.ns } * per_increment;
            let share = entry.share();
            let sample = Sample { line: 0, value: figure as f32 };
            Batch { number, sample, preempted: !(share >= usual / 4.0 && share <= usual * 4.0) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ns: f64, own: u64, others: u64) -> Entry {
        Entry { ns, own, both: own + others, acquisitions: own / 4 }
    }

    #[test]
    fn tells_being_alone_from_a_jump_of_the_figure() {
        let mut log = vec![entry(10_000.0, 200, 200); 10];
        log.extend(vec![entry(40_000.0, 200, 210); 3]);
        log.push(entry(1_600.0, 200, 0));
        log.push(entry(3_000_000.0, 200, 400_000));
        let batches = batches(&log, false);
        let preempted: Vec<_> = batches.iter().map(|batch| batch.preempted).collect();
        assert_eq!(preempted[..13], [false; 13]);
        assert_eq!(preempted[13..], [true; 2]);
        assert_eq!(batches[0].sample.value, 50.0);
    }

    #[test]
    fn ownership_changes_are_between_none_and_one_per_increment() {
        let batches = batches(&[entry(1.0, 100, 100); 4], true);
        assert_eq!(batches[0].sample.value, 0.25);
    }
}
