//! Noticing that this process is a child of `fork`, whose teams have no threads.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

static FORKS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many forks separate this process from the one that first asked; from then on forks are noticed.
pub(super) fn watch() -> usize {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler does nothing but add to a static. Without memory for it, forks go unnoticed.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    count()
}

/// The number of forks, once [`watch`] has been called.
#[inline(always)]
pub(super) fn count() -> usize {
    FORKS.load(Ordering::Relaxed)
}
