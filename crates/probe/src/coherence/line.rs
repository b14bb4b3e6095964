//! The lines that pairs share, and the words that alternate in them.

use super::sync::AtomicU64;

/// Which segment of which run a word belongs to, so that a run never takes a word left over from an earlier one for its
/// own.
///
/// A word is `run:32 | segment:12 | step:20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    run: u32,
    segment: u32,
}

const STEP_BITS: u32 = 20;
const LAST_STEP: u64 = (1 << STEP_BITS) - 1;
/// One more than the largest segment number of a run.
pub(crate) const MAX_SEGMENTS: u32 = 0xFFF;
/// The most round trips of a segment.
pub(crate) const MAX_ROUNDS: u64 = 1 << 18;

impl Tag {
    /// The first segment of a run.
    pub(crate) fn first(run: u32) -> Self {
        Self { run, segment: 0 }
    }

    /// The segment after this one; `None` after the last that fits.
    pub(crate) fn next(self) -> Option<Self> {
        (self.segment + 1 < MAX_SEGMENTS).then_some(Self { segment: self.segment + 1, ..self })
    }

    /// Number of the segment within its run.
    pub(crate) fn segment(self) -> usize {
        self.segment as usize
    }

    /// The word of a step.
    #[inline(always)]
    pub(crate) fn step(self, step: u64) -> u64 {
        u64::from(self.run) << 32 | u64::from(self.segment) << STEP_BITS | step
    }

    /// The word that ends the segment.
    #[inline(always)]
    pub(crate) fn done(self) -> u64 {
        self.step(LAST_STEP)
    }

    /// The word that ends the run, for whatever reason.
    #[inline(always)]
    pub(crate) fn stop(self) -> u64 {
        Self { segment: MAX_SEGMENTS, ..self }.done()
    }
}

/// How a segment ended for the follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The leader goes on with the next segment.
    Next,
    /// The leader ended the run.
    Stopped,
}

/// The other CPU has taken no step for too long, so the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// A segment as the leader saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Led {
    /// Time of its round trips.
    pub(crate) ticks: u64,
    /// Whether the leader once waited so long that one of the CPUs must have been away.
    pub(crate) stalled: bool,
}

/// Two lines for a pair: `turn` uses the first, `flags` one for each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Two<'a> {
    pub(crate) first: &'a AtomicU64,
    pub(crate) second: &'a AtomicU64,
}
