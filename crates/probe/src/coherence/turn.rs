//! Strict alternation by compare-and-swap on one line: one transfer of ownership a step.
//!
//! Both sides spin on the compare-and-swap itself: even a failed one takes ownership of the line, so that no step first
//! fetches a shared copy and then upgrades it.

use super::line::{Broken, End, Led, Tag};
use super::patience::Patience;
use super::sync::AtomicU64;
use super::sync::Ordering::{AcqRel, Acquire, Release};

/// Leads a segment of `rounds` timed round trips, that is twice as many steps, after one that is not timed.
pub(crate) fn lead(line: &AtomicU64, tag: Tag, rounds: u64, patience: &Patience) -> Result<Led, Broken> {
    line.store(tag.step(1), Release);
    advance(line, tag, tag.step(2), tag.step(3), patience)?;
    let mut stalled = false;
    let start = patience.clock.now();
    for round in 1..=rounds {
        stalled |= advance(line, tag, tag.step(2 * round + 2), tag.step(2 * round + 3), patience)?;
    }
    let ticks = patience.clock.now() - start;
    advance(line, tag, tag.step(2 * rounds + 4), tag.done(), patience)?;
    Ok(Led { ticks, stalled })
}

/// Waits for a word and replaces it; returns whether the wait was a stall.
#[inline(always)]
fn advance(line: &AtomicU64, tag: Tag, from: u64, to: u64, patience: &Patience) -> Result<bool, Broken> {
    let mut wait = patience.wait();
    while let Err(found) = line.compare_exchange(from, to, AcqRel, Acquire) {
        if found == tag.stop() || !wait.goes_on() {
            line.store(tag.stop(), Release);
            return Err(Broken);
        }
    }
    Ok(wait.stalled)
}

/// Follows a segment to its end; returns also whether a wait within it was a stall.
pub(crate) fn follow(line: &AtomicU64, tag: Tag, patience: &Patience) -> Result<(End, bool), Broken> {
    let mut stalled = false;
    let mut step = 1;
    loop {
        let mut wait = patience.wait();
        while let Err(found) = line.compare_exchange(tag.step(step), tag.step(step + 1), AcqRel, Acquire) {
            if found == tag.done() {
                return Ok((End::Next, stalled));
            }
            if found == tag.stop() {
                return Ok((End::Stopped, stalled));
            }
            if !wait.goes_on() {
                line.store(tag.stop(), Release);
                return Err(Broken);
            }
        }
        // Before its first step the leader may be busy with the segment before.
        stalled |= wait.stalled && step > 1;
        step += 2;
    }
}
