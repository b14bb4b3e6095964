//! The primitives under the pair protocols: the standard ones, or loom's where the protocols are model-checked.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop as pause,
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    thread::{Thread, current as current_thread},
};
use std::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop as pause,
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    thread::{Thread, current as current_thread},
};

/// An end to waiting.
pub(crate) struct Deadline {
    #[cfg(not(loom))]
    end: Instant,
}

impl Deadline {
    #[cfg(not(loom))]
    pub(crate) fn after(patience: Duration) -> Self {
        Self { end: Instant::now() + patience }
    }

    /// In a model nobody is late.
    #[cfg(loom)]
    pub(crate) fn after(_: Duration) -> Self {
        Self {}
    }

    /// Sleeps until woken, or for no reason, or until the end; returns whether time is left.
    #[cfg(not(loom))]
    pub(crate) fn park(&self) -> bool {
        match self.end.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => {
                std::thread::park_timeout(left);
                true
            }
            _ => false,
        }
    }

    #[cfg(loom)]
    pub(crate) fn park(&self) -> bool {
        loom::thread::park();
        true
    }
}
