//! Where members that wait for tasks sleep.

use std::ptr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use coho_sync::{WaitPolicy, may_linger};

use crate::settings::settings;

/// How long a waiting thread yields before it sleeps, if something else wants the CPUs.
const GIVE_WAY: Duration = Duration::from_micros(500);
/// A nap lasts for this part of the wait so far, so that an event without a ring is not noticed much later.
const PART: u32 = 8;
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(1);

/// Ends naps.
#[derive(Debug, Default)]
pub struct Bell {
    /// A thread naps, and has not been woken since: one that has been may wait long for its CPU.
    is_awaited: AtomicBool,
    rings: AtomicU32,
}

impl Bell {
    /// Call it after the sequentially consistent step that others may sleep for: either they see the step, or this sees
    /// them. It may also be called after other steps, if it does not matter that a nap sometimes lasts to its end.
    #[inline(always)]
    pub fn ring(&self) {
        if self.is_awaited.load(SeqCst) {
            self.wake();
        }
    }

    /// Whether a thread naps, or soon will or just did.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.load(Relaxed)
    }

    #[cold]
    fn wake(&self) {
        if !self.is_awaited.swap(false, SeqCst) {
            return;
        }
        self.rings.fetch_add(1, SeqCst);
        // SAFETY: the kernel uses the address only to find sleepers.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.rings.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            );
        }
    }

    /// Sleeps until rung, for at most `limit`, and not at all if what the caller waits for has happened.
    fn nap(&self, limit: Duration, is_there: impl Fn() -> bool) {
        // In this order: who takes the mark away for another sleeper wakes this one, too, or leaves the mark.
        let seen = self.rings.load(SeqCst);
        self.is_awaited.store(true, SeqCst);
        // A thread that takes the step and then sees no mark has taken it before this fence.
        fence(SeqCst);
        if !is_there() {
            let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
            // SAFETY: the word lives as long as `self`, and the kernel only reads it and the time.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.rings.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    seen,
                    ptr::from_ref(&limit),
                );
            }
        }
    }
}

/// Waits until a condition holds for which nobody rings.
pub fn wait_until(done: impl Fn() -> bool) {
    const LOOKS: u32 = 100;
    const YIELDS: u32 = 1000;
    let mut waited = 0;
    while !done() {
        waited += 1;
        match waited {
            ..LOOKS => std::hint::spin_loop(),
            LOOKS..YIELDS => std::thread::yield_now(),
            _ => std::thread::sleep(SHORTEST),
        }
    }
}

/// How long a member has waited.
#[derive(Debug, Default)]
pub struct Wait(Option<Instant>);

impl Wait {
    /// Yields or naps, as the user wants it.
    #[cold]
    pub fn go_on(&mut self, bell: &Bell, is_there: impl Fn() -> bool) {
        let waited = self.0.get_or_insert_with(Instant::now).elapsed();
        match settings().policy {
            WaitPolicy::Active => std::thread::yield_now(),
            WaitPolicy::Passive => bell.nap(nap(waited), is_there),
            _ if waited < GIVE_WAY => std::thread::yield_now(),
            WaitPolicy::Adaptive if may_linger(waited) => std::thread::yield_now(),
            _ => bell.nap(nap(waited), is_there),
        }
    }
}

fn nap(waited: Duration) -> Duration {
    (waited / PART).clamp(SHORTEST, LONGEST)
}
