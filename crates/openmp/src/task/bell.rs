//! What ends naps.

use std::time::Duration;

use crate::sync::Ordering::{Relaxed, SeqCst};
use crate::sync::{AtomicBool, Futex, fence};

/// Ends naps.
#[derive(Debug)]
pub struct Bell {
    /// A thread naps, and has not been woken since: one that has been may wait long for its CPU.
    is_awaited: AtomicBool,
    rings: Futex,
}

impl Default for Bell {
    fn default() -> Self {
        Self { is_awaited: AtomicBool::new(false), rings: Futex::new() }
    }
}

impl Bell {
    /// Call it after the sequentially consistent step that others may sleep for: either they see the step, or this sees
    /// them. It may also be called after other steps, if it does not matter that a nap sometimes lasts to its end.
    #[inline(always)]
    pub fn ring(&self) {
        if self.is_awaited.load(SeqCst) {
            self.wake();
        }
    }

    /// Whether a thread naps, or soon will or just did.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.load(Relaxed)
    }

    #[cold]
    fn wake(&self) {
        if !self.is_awaited.swap(false, SeqCst) {
            return;
        }
        self.rings.advance();
        self.rings.wake_all();
    }

    /// Sleeps until rung, for at most `limit`, and not at all if what the caller waits for has happened.
    pub fn nap(&self, limit: Duration, is_there: impl Fn() -> bool) {
        // In this order: who takes the mark away for another sleeper wakes this one, too, or leaves the mark.
        let seen = self.rings.load();
        self.is_awaited.store(true, SeqCst);
        // A thread that takes the step and then sees no mark has taken it before this fence.
        fence(SeqCst);
        if !is_there() {
            self.rings.wait(seen, limit);
        }
    }
}
