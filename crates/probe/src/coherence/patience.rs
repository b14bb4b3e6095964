//! How long a CPU waits for its partner's next step.

use std::time::Duration;

use super::sync::{LOOKS, is_over};
use crate::clock::{Clock, Ticks};

/// A wait this long shows that a CPU was away: a hundred times what the slowest links take.
pub(crate) const STALL: Duration = Duration::from_micros(10);
/// A wait this long ends the run: the partner is off its CPU.
pub(crate) const LOST: Duration = Duration::from_micros(100);

/// The limits in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) clock: Clock,
    stall: Ticks,
    lost: Ticks,
}

impl Patience {
    pub(crate) fn new() -> Self {
        let clock = Clock::get();
        Self { clock, stall: clock.ticks(STALL), lost: clock.ticks(LOST) }
    }

    /// A wait that begins now.
    #[inline(always)]
    pub(crate) fn wait(&self) -> Wait<'_> {
        Wait { patience: self, looks: 0, since: 0, stalled: false }
    }
}

/// One wait.
pub(crate) struct Wait<'a> {
    patience: &'a Patience,
    looks: u32,
    since: Ticks,
    /// Whether it became so long that the partner must have been away.
    pub(crate) stalled: bool,
}

impl Wait<'_> {
    /// Call it after each look in vain; returns whether to go on waiting.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self) -> bool {
        self.looks += 1;
        !self.looks.is_multiple_of(LOOKS) || self.look_at_clock()
    }

    #[cold]
    fn look_at_clock(&mut self) -> bool {
        let now = self.patience.clock.now();
        if self.since == 0 {
            self.since = now;
        }
        let waited = now.saturating_sub(self.since);
        self.stalled |= waited > self.patience.stall;
        !is_over(waited, self.patience.lost)
    }
}
