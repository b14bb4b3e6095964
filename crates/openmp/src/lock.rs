//! Locks of one word, as libgomp lays them out: named critical sections and `omp_lock_t` have no room for more.

use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const FREE: i32 = 0;
const HELD: i32 = 1;
/// Held, and a thread sleeps for it.
const AWAITED: i32 = -1;

/// Looks before the first sleep, with ever longer gaps; critical sections are usually short.
const LOOKS: u32 = 100;
const LONGEST_GAP: u32 = 16;

/// A lock that sleeps in the kernel if it must. All zeros is free.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(AtomicI32);

impl Lock {
    pub const fn new() -> Self {
        Self(AtomicI32::new(FREE))
    }

    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        let mut gap = 1;
        for _ in 0..LOOKS {
            (0..gap).for_each(|_| spin_loop());
            gap = (2 * gap).min(LONGEST_GAP);
            match self.0.load(Relaxed) {
                FREE if self.try_lock() => return,
                // A sleeper must not be overtaken for ever.
                AWAITED => break,
                _ => {}
            }
        }
        while self.0.swap(AWAITED, Acquire) != FREE {
            // SAFETY: the word is alive, and no time is given.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    AWAITED,
                    ptr::null::<libc::timespec>(),
                );
            }
        }
    }

    #[inline]
    pub fn unlock(&self) {
        if self.0.swap(FREE, Release) == AWAITED {
            // SAFETY: as above.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;

    use super::*;

    struct Counter(UnsafeCell<u64>);
    // SAFETY: used under the lock.
    unsafe impl Sync for Counter {}

    #[test]
    fn only_one_holds_it() {
        const EACH: u64 = 20_000;
        let (lock, counter) = (Lock::new(), Counter(UnsafeCell::new(0)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let counter = &counter;
                    for turn in 0..EACH {
                        if turn % 3 != 0 || !lock.try_lock() {
                            lock.lock();
                        }
                        // SAFETY: the lock is held.
                        unsafe { *counter.0.get() += 1 };
                        lock.unlock();
                    }
                });
            }
        });
        assert_eq!(counter.0.into_inner(), 4 * EACH);
        assert!(lock.try_lock() && !lock.try_lock());
    }
}
