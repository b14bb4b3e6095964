//! A barrier that can be left before all have come.

use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::sync::{AtomicBool, AtomicU32};

/// Where members meet, unless what they meet in is cancelled.
#[derive(Debug)]
pub struct Gathering {
    is_cancelled: AtomicBool,
    arrived: AtomicU32,
    /// How often all have met.
    met: AtomicU32,
}

impl Default for Gathering {
    fn default() -> Self {
        Self { is_cancelled: AtomicBool::new(false), arrived: AtomicU32::new(0), met: AtomicU32::new(0) }
    }
}

impl Gathering {
    /// Nobody waits any more. The caller rings for those who sleep.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, SeqCst);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(SeqCst)
    }

    /// One of `size` members arrives. The last, which does `between` while the others wait, lets them go, and then rings for
    /// those who sleep; any other gets the number to wait with.
    pub fn arrive(&self, size: u32, between: impl FnOnce()) -> Option<u32> {
        let met = self.met.load(Relaxed);
        if self.arrived.fetch_add(1, AcqRel) + 1 != size {
            return Some(met);
        }
        self.arrived.store(0, Relaxed);
        between();
        self.met.store(met.wrapping_add(1), SeqCst);
        None
    }

    /// Whether one that has arrived and got this number need not wait.
    pub fn is_over(&self, number: u32) -> bool {
        self.met.load(Acquire) != number || self.is_cancelled()
    }
}
