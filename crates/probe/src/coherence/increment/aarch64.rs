//! Atomic and plain additions of one; the compiler chooses LDADD (LSE) or exclusive loads and stores.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `n` (at least 1) atomic increments; returns the line's value after the last.
#[inline(never)]
pub(crate) fn locked(line: &AtomicU64, n: u64) -> u64 {
    let mut value = 0;
    for _ in 0..n.max(1) {
        value = line.fetch_add(1, Relaxed) + 1;
    }
    value
}

/// `n` (at least 1) increments by a load and a store, for a line that no other CPU uses.
#[inline(never)]
pub(crate) fn unlocked(line: &AtomicU64, n: u64) {
    for _ in 0..n.max(1) {
        line.store(line.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

/// `n` (at least 1) atomic increments that check the value they find: returns how often it was not `last`, the value
/// that this CPU had left there, and updates `last`.
#[inline(never)]
pub(crate) fn locked_counting(line: &AtomicU64, n: u64, last: &mut u64) -> u64 {
    let mut changes = 0;
    for _ in 0..n.max(1) {
        let found = line.fetch_add(1, Relaxed);
        changes += u64::from(found != *last);
        *last = found + 1;
    }
    changes
}
