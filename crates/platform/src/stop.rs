//! Stopping on request: the first signal that asks for an end is recorded, so that finished results can be kept; the
//! next one ends the process.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering::Relaxed};

/// Signals that ask a process to end, and can be caught.
pub const SIGNALS: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The signal that came first; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// When it came, in ns of the monotonic clock; 0 for never.
static CAME_NS: AtomicI64 = AtomicI64::new(0);
/// A second signal within this time counts as the same request: some senders signal a process and then its group, or
/// send SIGTERM and SIGHUP together. Nobody presses a key twice that quickly.
const SAME_WISH_NS: i64 = 100_000_000;

extern "C" fn note(signal: libc::c_int) {
    let now = now_ns();
    let Err(first) = CAME_NS.compare_exchange(0, now, Relaxed, Relaxed) else {
        return SIGNAL.store(signal, Relaxed);
    };
    if now - first > SAME_WISH_NS {
        // SAFETY: both calls are async-signal-safe. The signal is held back until this handler returns; its default
        // action then ends the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// The monotonic clock in ns, at least 1.
fn now_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: async-signal-safe; `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).max(1)
}

/// From now on the first of [`SIGNALS`] is a request to stop; a later one ends the process. A signal that is ignored, as
/// SIGHUP is under `nohup`, stays ignored.
///
/// # Errors
/// The operating system's error, if it refuses the handlers.
pub fn on_signals() -> io::Result<()> {
    replace(libc::SIG_DFL, note as *const () as libc::sighandler_t)
}

/// Restores the signals' default actions if [`on_signals`] changed them. Makes only system calls, so that a child may
/// call it between `fork` and `exec`, or in place of `exec`.
///
/// # Errors
/// The operating system's error.
pub fn let_go() -> io::Result<()> {
    replace(note as *const () as libc::sighandler_t, libc::SIG_DFL)
}

/// Replaces the signals' action if it is `old`; an action that other code has set stays.
fn replace(old: libc::sighandler_t, new: libc::sighandler_t) -> io::Result<()> {
    for signal in SIGNALS {
        // SAFETY: a zeroed sigaction is a valid one, and `note` makes async-signal-safe calls alone.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && (action.sa_sigaction != old || {
                    action.sa_sigaction = new;
                    action.sa_flags = libc::SA_RESTART;
                    libc::sigemptyset(&raw mut action.sa_mask);
                    libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0
                })
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether a stop has been requested.
pub fn requested() -> bool {
    CAME_NS.load(Relaxed) != 0
}

/// The signal that requested the stop; `None` if there was none.
pub fn signal() -> Option<i32> {
    Some(SIGNAL.load(Relaxed)).filter(|&signal| signal != 0)
}

/// The exit status that shells give a process which a signal ended, 128 + its number; `None` if there was none.
pub fn exit_status() -> Option<u8> {
    signal().map(|signal| 128 + signal as u8)
}
