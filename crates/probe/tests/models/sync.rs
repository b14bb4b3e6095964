//! The primitives under the protocols, on the model checker: every interleaving, weak memory, and partners that may be
//! taken for lost at any time.

use std::cell::Cell;
use std::time::Duration;

pub(crate) use loom::hint::spin_loop as pause;
pub(crate) use loom::sync::Mutex;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use loom::thread::{Thread, current as current_thread};

use crate::clock::Ticks;

pub(crate) const LOOKS: u32 = 1;
pub(crate) const SPINS: u32 = 1;

thread_local! {
    static LOST_AFTER: Cell<u32> = const { Cell::new(u32::MAX) };
    static LOOKED: Cell<u32> = const { Cell::new(0) };
}

/// From now on, a partner is taken for lost after each this many looks in vain of both sides together.
pub(crate) fn lose_after(looks: u32) {
    LOST_AFTER.set(looks);
    LOOKED.set(0);
}

pub(crate) fn is_over(_: Ticks, _: Ticks) -> bool {
    loom::thread::yield_now();
    LOOKED.set(LOOKED.get() + 1);
    if LOOKED.get().is_multiple_of(LOST_AFTER.get()) {
        LOOKED.set(0);
        return true;
    }
    false
}

/// In a model nobody is late for a meeting.
pub(crate) struct Deadline;

impl Deadline {
    pub(crate) fn after(_: Duration) -> Self {
        Self
    }

    pub(crate) fn park(&self) -> bool {
        loom::thread::park();
        true
    }
}
