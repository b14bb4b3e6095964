//! Runs of `turn` and `flags`: batches one after the other until the figure is tight.
//!
//! A batch consists of segments, each on a line of its own, because the cache slice that holds a line changes its time
//! by up to a half. The time between segments is not counted. Batches take groups of lines in turn.

use coho_profile::PairMethod;

use super::arena::{GROUPS, LINES, SEGMENTS};
use super::line::{Broken, End, Led, MAX_ROUNDS, Tag, Two};
use super::patience::Patience;
use super::run::{Batch, Effort, Run, Sample};
use super::sync::Ordering::Release;
use super::{flags, turn};

/// Leads a run; `rounds` is a first guess of a segment's round trips, and afterwards the number that was found.
pub(crate) fn lead(
    method: PairMethod,
    lines: &[Two<'_>; LINES],
    run: u32,
    effort: &Effort,
    rounds: &mut u64,
) -> Run {
    let patience = &effort.patience;
    let segment = effort.batch / SEGMENTS as u64;
    let mut result = Run::default();
    let mut tag = Tag::first(run);
    let mut calibrated = false;
    // The state of the current batch: segments, time, and whether a CPU was away.
    let mut batch = (0, 0, false);
    loop {
        let line = lines[tag.segment() % LINES];
        let led = match method {
            PairMethod::Flags => flags::lead(line, tag, *rounds, patience),
            _ => turn::lead(line.first, tag, *rounds, patience),
        };
        let Ok(Led { ticks, stalled }) = led else {
            result.broken = true;
            return result;
        };
        if !calibrated {
            // A segment stretched by a preemption says nothing about the time that segments take.
            calibrated = !stalled && (ticks * 5 >= segment * 4 || *rounds >= MAX_ROUNDS);
            let factor = (segment as f64 / ticks.max(1) as f64).clamp(0.5, 8.0);
            if !stalled {
                *rounds = ((*rounds as f64 * factor).ceil() as u64).clamp(1, MAX_ROUNDS);
            }
        } else if batch.0 > 0 || tag.segment().is_multiple_of(SEGMENTS) {
            batch = (batch.0 + 1, batch.1 + ticks, batch.2 | stalled);
        }
        if batch.0 == SEGMENTS {
            let number = tag.segment() / SEGMENTS;
            let steps = (2 * *rounds) as f64 * SEGMENTS as f64;
            let sample =
                Sample { line: (number % GROUPS) as u32, value: (patience.clock.ns(batch.1) / steps) as f32 };
            result.batches.push(Batch { number, sample, preempted: batch.2 });
            batch = (0, 0, false);
        }
        let enough = batch.0 == 0 && effort.is_enough(&result.batches, GROUPS);
        match tag.next() {
            Some(next) if !enough => tag = next,
            // On the line where the follower looks for the next segment.
            next => {
                let at = next.map_or(tag.segment() + 1, Tag::segment);
                lines[at % LINES].first.store(tag.stop(), Release);
                return result;
            }
        }
    }
}

/// Follows a run to its end; returns the numbers of the batches in which a CPU was away.
pub(crate) fn follow(
    method: PairMethod,
    lines: &[Two<'_>; LINES],
    run: u32,
    patience: &Patience,
) -> Vec<usize> {
    let mut preempted = Vec::new();
    let mut tag = Some(Tag::first(run));
    while let Some(segment) = tag {
        let line = lines[segment.segment() % LINES];
        let followed = match method {
            PairMethod::Flags => flags::follow(line, segment, patience),
            _ => turn::follow(line.first, segment, patience),
        };
        match followed {
            Ok((end, stalled)) => {
                if stalled {
                    preempted.push(segment.segment() / SEGMENTS);
                }
                if end == End::Stopped {
                    break;
                }
            }
            Err(Broken) => break,
        }
        tag = segment.next();
    }
    preempted
}
