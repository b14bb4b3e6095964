//! How arrivals are counted: behind a lock variable (Nakamura et al.'s reference) or by an atomic subtraction.

use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, relax};

/// Counts arrivals one after the other; returns whether this was the last.
pub(super) trait Counter {
    fn new(threads: usize) -> Self;
    fn count(&self) -> bool;
}

/// A counter in the system's mutex.
#[derive(Debug)]
pub(super) struct InMutex {
    arrived: Mutex<usize>,
    threads: usize,
}

impl Counter for InMutex {
    fn new(threads: usize) -> Self {
        Self { arrived: Mutex::new(0), threads }
    }

    fn count(&self) -> bool {
        let mut arrived = self.arrived.lock().expect("no holder panics");
        *arrived = (*arrived + 1) % self.threads;
        *arrived == 0
    }
}

/// A counter behind a test-and-set lock.
#[derive(Debug)]
pub(super) struct InSpinLock {
    locked: AtomicBool,
    arrived: AtomicUsize,
    threads: usize,
}

impl Counter for InSpinLock {
    fn new(threads: usize) -> Self {
        Self { locked: AtomicBool::new(false), arrived: AtomicUsize::new(0), threads }
    }

    fn count(&self) -> bool {
        // Not a swap, which would write to the lock even while it is held.
        while self.locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            relax();
        }
        let arrived = (self.arrived.load(Relaxed) + 1) % self.threads;
        self.arrived.store(arrived, Relaxed);
        self.locked.store(false, Release);
        arrived == 0
    }
}

/// A counter with one atomic subtraction for each arrival: the central sense-reversing barrier.
#[derive(Debug)]
pub(super) struct Atomic {
    missing: AtomicUsize,
    threads: usize,
}

impl Counter for Atomic {
    fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads), threads }
    }

    fn count(&self) -> bool {
        let last = self.missing.fetch_sub(1, AcqRel) == 1;
        if last {
            self.missing.store(self.threads, Relaxed);
        }
        last
    }
}
