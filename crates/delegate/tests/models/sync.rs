//! The primitives under the ring, on the model checker: every interleaving, and weak memory.

use std::cell::Cell;

pub(crate) use loom::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// A planted mistake that the models must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// A post or an answer does not release what was written before.
    RelaxedStores,
    /// A look does not acquire it.
    RelaxedLoads,
    /// A claim is a look, then a store.
    PlainClaims,
}

thread_local! {
    // All threads of a model run on one thread of the system.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
}

pub(crate) fn make(mistake: Mistake) {
    MISTAKE.set(mistake);
}

fn unless(mistake: Mistake, ordering: Ordering) -> Ordering {
    if MISTAKE.get() == mistake { Ordering::Relaxed } else { ordering }
}

/// Loom's word, but for the mistake.
#[derive(Debug)]
pub(crate) struct AtomicU32(loom::sync::atomic::AtomicU32);

impl AtomicU32 {
    pub(crate) fn new(value: u32) -> Self {
        Self(loom::sync::atomic::AtomicU32::new(value))
    }

    pub(crate) fn load(&self, ordering: Ordering) -> u32 {
        self.0.load(unless(Mistake::RelaxedLoads, ordering))
    }

    pub(crate) fn store(&self, value: u32, ordering: Ordering) {
        self.0.store(value, unless(Mistake::RelaxedStores, ordering));
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        if MISTAKE.get() == Mistake::PlainClaims {
            let seen = self.0.load(success);
            if seen != current {
                return Err(seen);
            }
            self.0.store(new, Ordering::Relaxed);
            return Ok(seen);
        }
        self.0.compare_exchange(current, new, success, failure)
    }
}
