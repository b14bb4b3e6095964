//! One round over all lines of a CPU: strict alternation by compare-and-swap (`turn`) on each once, in random order.

use super::line::{Broken, End, Led, Tag, Two};
use super::patience::Patience;
use super::run::{Batch, Run, Sample};
use super::sync::AtomicU64;
use super::sync::Ordering::Release;
use super::turn;

/// The order of a round over both lines of each pair, the same on both sides. No line follows itself, as the protocol
/// demands.
fn order(seed: u64, pairs: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..2 * pairs).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    order
}

fn line<'a>(lines: &[Two<'a>], index: usize) -> &'a AtomicU64 {
    let two = lines[index / 2];
    if index.is_multiple_of(2) { two.first } else { two.second }
}

/// Leads a round of `rounds` round trips on each line. A round that is broken off keeps the lines measured so far.
pub(crate) fn lead(lines: &[Two<'_>], seed: u64, run: u32, rounds: u64, patience: &Patience) -> Run {
    let order = order(seed, lines.len());
    let mut result = Run::default();
    let mut tag = Tag::first(run);
    for &index in &order {
        let Ok(Led { ticks, stalled }) = turn::lead(line(lines, index), tag, rounds, patience) else {
            result.broken = true;
            return result;
        };
        let value = (patience.clock.ns(ticks) / (2 * rounds) as f64) as f32;
        let sample = Sample { line: index as u32, value };
        result.batches.push(Batch { number: tag.segment(), sample, preempted: stalled });
        tag = tag.next().expect("a run has more segments than a CPU has lines");
    }
    // On the line where the follower looks for the next segment.
    line(lines, order[0]).store(tag.stop(), Release);
    result
}

/// Follows a round to its end; returns the lines, by their place in the order, during which a CPU was away.
pub(crate) fn follow(lines: &[Two<'_>], seed: u64, run: u32, patience: &Patience) -> Vec<usize> {
    let order = order(seed, lines.len());
    let mut preempted = Vec::new();
    let mut tag = Some(Tag::first(run));
    while let Some(segment) = tag {
        let at = order[segment.segment() % order.len()];
        match turn::follow(line(lines, at), segment, patience) {
            Ok((end, stalled)) => {
                if stalled {
                    preempted.push(segment.segment());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_each_line_once() {
        let mut lines = order(7, 32);
        assert_eq!(lines, order(7, 32));
        assert_ne!(lines, order(8, 32));
        lines.sort_unstable();
        assert!(lines.into_iter().eq(0..64));
    }
}
