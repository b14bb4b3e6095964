//! Strict alternation by plain stores on two lines, one for each direction: two transfers a step: one invalidates the
//! reader's copy, and one fetches the new word.

use super::line::{Broken, End, Led, Tag, Two};
use super::patience::Patience;
use super::sync::Ordering::{Acquire, Release};

/// Leads a segment of `rounds` timed round trips, that is twice as many steps, after one that is not timed.
pub(crate) fn lead(lines: Two<'_>, tag: Tag, rounds: u64, patience: &Patience) -> Result<Led, Broken> {
    exchange(lines, tag, 1, patience)?;
    let mut stalled = false;
    let start = patience.clock.now();
    for round in 2..rounds + 2 {
        stalled |= exchange(lines, tag, round, patience)?;
    }
    let ticks = patience.clock.now() - start;
    lines.first.store(tag.done(), Release);
    Ok(Led { ticks, stalled })
}

#[inline(always)]
fn exchange(lines: Two<'_>, tag: Tag, round: u64, patience: &Patience) -> Result<bool, Broken> {
    lines.first.store(tag.step(round), Release);
    let mut wait = patience.wait();
    loop {
        let found = lines.second.load(Acquire);
        if found == tag.step(round) {
            return Ok(wait.stalled);
        }
        if found == tag.stop() || !wait.goes_on() {
            lines.first.store(tag.stop(), Release);
            return Err(Broken);
        }
    }
}

/// Follows a segment to its end; returns also whether a wait within it was a stall.
pub(crate) fn follow(lines: Two<'_>, tag: Tag, patience: &Patience) -> Result<(End, bool), Broken> {
    let mut stalled = false;
    for round in 1.. {
        let mut wait = patience.wait();
        loop {
            let found = lines.first.load(Acquire);
            if found == tag.step(round) {
                break;
            }
            if found == tag.done() {
                return Ok((End::Next, stalled));
            }
            if found == tag.stop() {
                return Ok((End::Stopped, stalled));
            }
            if !wait.goes_on() {
                lines.second.store(tag.stop(), Release);
                return Err(Broken);
            }
        }
        stalled |= wait.stalled && round > 1;
        lines.second.store(tag.step(round), Release);
    }
    unreachable!("a segment has fewer rounds than there are numbers")
}
