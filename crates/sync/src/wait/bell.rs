//! Where threads sleep until somebody has taken a step.

use std::time::Duration;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicU32, Futex, heavy_fence, light_fence};

/// How long a sleeper trusts in being woken where the kernel refuses to fence the others.
const UNFENCED: Duration = Duration::from_millis(1);

/// Wakes those who sleep for one thread's next step.
///
/// Who takes the step pays one look at a line that nobody writes as long as nobody sleeps: no fence and no
/// read-modify-write. The sleeper pays instead, by a fence that the kernel runs on every thread (membarrier).
#[derive(Debug)]
pub(crate) struct Bell {
    sleepers: AtomicU32,
    rings: Futex,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { sleepers: AtomicU32::new(0), rings: Futex::new() }
    }

    /// To be called after the store that others may sleep for.
    #[inline(always)]
    pub(crate) fn ring(&self) {
        light_fence();
        if self.sleepers.load(Relaxed) != 0 {
            self.wake();
        }
    }

    /// Wakes all who sleep or are about to.
    #[cold]
    pub(crate) fn wake(&self) {
        self.rings.advance();
        self.rings.wake_all();
    }

    /// Sleeps until rung, or for no reason, at most for `limit`, and not at all once `done`.
    pub(crate) fn sleep(&self, done: &dyn Fn() -> bool, limit: Option<Duration>) {
        self.sleepers.fetch_add(1, Relaxed);
        let seen = self.rings.load();
        // Either this thread sees the step, or who took it sees a sleeper and changes what `seen` was read from.
        let limit = if heavy_fence() { limit } else { Some(limit.map_or(UNFENCED, |l| l.min(UNFENCED))) };
        if !done() {
            self.rings.wait(seen, limit);
        }
        self.sleepers.fetch_sub(1, Relaxed);
    }
}
