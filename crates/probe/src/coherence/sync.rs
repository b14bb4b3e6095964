//! The primitives under the pair protocols. The model checker replaces this module, and nothing else (`tests/models`).

use std::time::{Duration, Instant};

pub(crate) use std::hint::spin_loop as pause;
pub(crate) use std::sync::Mutex;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::thread::{Thread, current as current_thread};

use crate::clock::Ticks;

/// Looks at a line between two looks at the clock.
pub(crate) const LOOKS: u32 = 64;
/// How often a side spins for the other at a meeting before it sleeps: a CPU that spins while its partner waits for a
/// turn on a busy CPU only uses up its own turn.
pub(crate) const SPINS: u32 = 2000;

/// Whether a wait has become too long.
pub(crate) fn is_over(waited: Ticks, limit: Ticks) -> bool {
    waited > limit
}

/// An end to sleeping.
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(patience: Duration) -> Self {
        Self(Instant::now() + patience)
    }

    /// Sleeps until woken or until the deadline; may wake for no reason. Returns whether time is left.
    pub(crate) fn park(&self) -> bool {
        match self.0.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => {
                std::thread::park_timeout(left);
                true
            }
            _ => false,
        }
    }
}
