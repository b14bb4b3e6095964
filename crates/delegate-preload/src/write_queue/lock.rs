//! A lock that is released by a plain store.
//!
//! A mutex is released by an atomic exchange, which waits until every store before it has reached its line. The request that
//! was just posted lies in a line that the host looks at, so that this would take as long as a message there.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use coho_delegate::Request;

/// Looks before the thread gives way, and times that it gives way before it naps: its CPU may be what the holder needs.
const LOOKS: u32 = 100;
const YIELDS: u32 = 100;

/// Held for short; whoever waits does not sleep.
pub struct Lock<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: Send> Sync for Lock<T> {}

pub struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Self { is_held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        if !self.take() {
            self.wait();
        }
        Guard(self)
    }

    #[inline(always)]
    fn take(&self) -> bool {
        self.is_held.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut tries = 0;
        while self.is_held.load(Relaxed) || !self.take() {
            tries += 1;
            if tries < LOOKS {
                std::hint::spin_loop();
            } else {
                pause(tries > LOOKS + YIELDS);
            }
        }
    }
}

/// Gives way, or naps for 50 us; no cancellation point.
fn pause(naps: bool) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    let at = std::ptr::from_ref(&time) as usize;
    let number = if naps { libc::SYS_nanosleep } else { libc::SYS_sched_yield };
    // SAFETY: the kernel reads the time, or takes no arguments.
    unsafe { Request::system(number, [at, 0, 0, 0, 0, 0]).execute() };
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_held.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        let counter = Lock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let mut value = counter.lock();
                        *value += 1;
                    }
                });
            }
        });
        assert_eq!(*counter.lock(), 40_000);
    }
}
