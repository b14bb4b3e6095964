//! The wish to stop: SIGINT and SIGTERM end an experiment early and keep what it has.

use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Second of the monotonic clock in which a stop was requested; 0 for never.
static REQUESTED: AtomicI64 = AtomicI64::new(0);
/// A second signal within so many seconds is the same wish: some senders signal a process and its group.
const SAME_WISH: i64 = 1;
/// What to do before a signal ends the process; null for nothing.
static LAST_ACT: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Has `act`, which must be async-signal-safe, called before a later signal ends the process.
pub(crate) fn before_death(act: extern "C" fn()) {
    LAST_ACT.store(act as *mut (), Relaxed);
}

extern "C" fn handle(signal: libc::c_int) {
    let now = now();
    let first = REQUESTED.compare_exchange(0, now, Relaxed, Relaxed).err();
    if first.is_some_and(|first| now - first > SAME_WISH) {
        let last_act = LAST_ACT.load(Relaxed);
        if !last_act.is_null() {
            // SAFETY: only `before_death` writes there, and what it writes is such a function.
            let last_act: extern "C" fn() = unsafe { std::mem::transmute(last_act) };
            last_act();
        }
        // SAFETY: both calls are async-signal-safe; the default action of these signals ends the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Seconds of the monotonic clock, at least 1.
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: async-signal-safe; `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec.max(1)
}

/// From now on the first SIGINT or SIGTERM is a request to stop; one that comes later ends the process.
///
/// # Errors
/// If the operating system refuses the handlers.
pub fn on_signals() -> std::io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: a zeroed sigaction is a valid one, and the handler only makes async-signal-safe calls.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        if result != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether a stop has been requested.
pub fn requested() -> bool {
    REQUESTED.load(Relaxed) != 0
}

/// When an experiment has to end: at its time limit or as soon as a stop is requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End(Option<Instant>);

impl End {
    /// A limit that no clock reaches is none.
    pub(crate) fn after(start: Instant, limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| start.checked_add(limit)))
    }

    pub(crate) fn has_come(self) -> bool {
        requested() || self.0.is_some_and(|end| Instant::now() >= end)
    }
}
