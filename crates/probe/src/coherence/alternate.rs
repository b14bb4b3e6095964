//! Runs of `turn` and `flags`: batches one after the other, on lines in turn, until the figure is tight.

use coho_profile::PairMethod;

use super::line::{Broken, End, Led, MAX_ROUNDS, Tag, Two};
use super::patience::Patience;
use super::run::{Batch, Effort, Run, Sample};
use super::sync::Ordering::Release;
use super::{flags, turn};

/// Leads a run; `rounds` is the first guess of a batch's round trips, and afterwards the number found right.
///
/// A batch is on the next line of `lines`, since the slice of the cache in which a line lives changes its time.
pub(crate) fn lead(
    method: PairMethod,
    lines: &[Two<'_>],
    run: u32,
    effort: &Effort,
    rounds: &mut u64,
) -> Run {
    let patience = &effort.patience;
    let mut result = Run::default();
    let mut tag = Tag::first(run);
    let mut calibrated = false;
    loop {
        let line = lines[tag.batch() % lines.len()];
        let led = match method {
            PairMethod::Flags => flags::lead(line, tag, *rounds, patience),
            _ => turn::lead(line.first, tag, *rounds, patience),
        };
        let Ok(Led { ticks, stalled }) = led else {
            result.broken = true;
            return result;
        };
        if calibrated {
            let ns = patience.clock.ns(ticks) / (2 * *rounds) as f64;
            let sample = Sample { line: (tag.batch() % lines.len()) as u32, value: ns as f32 };
            result.batches.push(Batch { number: tag.batch(), sample, preempted: stalled });
        } else {
            // What a preemption has stretched tells nothing of the time that a batch takes.
            calibrated = !stalled && (ticks * 5 >= effort.batch * 4 || *rounds >= MAX_ROUNDS);
            let factor = (effort.batch as f64 / ticks.max(1) as f64).clamp(0.5, 8.0);
            if !stalled {
                *rounds = ((*rounds as f64 * factor).ceil() as u64).clamp(1, MAX_ROUNDS);
            }
        }
        let enough = effort.is_enough(&result.batches, lines.len());
        match tag.next() {
            Some(next) if !enough => tag = next,
            // On the line where the follower looks for the next batch.
            next => {
                let at = next.map_or(tag.batch() + 1, Tag::batch);
                lines[at % lines.len()].first.store(tag.stop(), Release);
                return result;
            }
        }
    }
}

/// Follows a run to its end; returns the numbers of the batches in which a CPU was away.
pub(crate) fn follow(method: PairMethod, lines: &[Two<'_>], run: u32, patience: &Patience) -> Vec<usize> {
    let mut preempted = Vec::new();
    let mut tag = Some(Tag::first(run));
    while let Some(batch) = tag {
        let line = lines[batch.batch() % lines.len()];
        let followed = match method {
            PairMethod::Flags => flags::follow(line, batch, patience),
            _ => turn::follow(line.first, batch, patience),
        };
        match followed {
            Ok((end, stalled)) => {
                if stalled {
                    preempted.push(batch.batch());
                }
                if end == End::Stopped {
                    break;
                }
            }
            Err(Broken) => break,
        }
        tag = batch.next();
    }
    preempted
}
