//! The primitives under what threads agree on without a team's barrier. The model checker replaces this module, and nothing
//! else (`tests/models`).

pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering, fence,
};

use std::ptr;
use std::time::Duration;

/// A word that threads sleep on.
#[derive(Debug)]
pub(crate) struct Futex(AtomicU32);

impl Futex {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub(crate) fn load(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn advance(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Sleeps if the word is `seen`, until woken, for at most `limit`, which is less than a second; may wake for no reason.
    pub(crate) fn wait(&self, seen: u32, limit: Duration) {
        let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
        let call = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word lives as long as `self`, and the kernel only reads it and the time.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), call, seen, ptr::from_ref(&limit)) };
    }

    pub(crate) fn wake_all(&self) {
        let call = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the kernel uses the address only to find sleepers.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), call, i32::MAX) };
    }
}
