//! The program's view of signals: the timers' one is not there.

use std::mem::MaybeUninit;

use coho_preload::call_next;
use libc::{c_int, sighandler_t, sigset_t};

use super::thread::this;
use super::{next, steps, tick};

/// # Safety
/// As `sigaction`.
pub unsafe fn act(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if signal != 0 && signal == tick::signal() {
        if new.is_null() {
            if !old.is_null() {
                // SAFETY: the caller's place; zeros are the default action.
                unsafe { old.write(MaybeUninit::zeroed().assume_init()) };
            }
            return 0;
        }
        tick::give_up_signal();
    }
    // SAFETY: the caller's promises are handed on; what is written there was written before.
    unsafe {
        let result = call_next!(next::sigaction; signal, new, old;
            c_int, *const libc::sigaction, *mut libc::sigaction; c_int);
        if result == 0 && !old.is_null() && steps::is_handler((*old).sa_sigaction) {
            old.write(MaybeUninit::zeroed().assume_init());
        }
        result
    }
}

/// # Safety
/// As `signal`.
pub unsafe fn handle(signal: c_int, handler: sighandler_t) -> sighandler_t {
    if signal != 0 && signal == tick::signal() {
        tick::give_up_signal();
    }
    // SAFETY: the caller's promises are handed on.
    let old = unsafe { call_next!(next::signal; signal, handler; c_int, sighandler_t; sighandler_t) };
    if steps::is_handler(old) { libc::SIG_DFL } else { old }
}

/// What `pthread_sigmask` and `sigprocmask` do, by one of them: the timers' signal stays unblocked, and the thread is told
/// what it would have been.
///
/// # Safety
/// As those.
pub unsafe fn mask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
    call: impl FnOnce(*const sigset_t) -> c_int,
) -> c_int {
    let signal = tick::signal();
    if signal == 0 {
        return call(new);
    }
    let mut open;
    let mut handed = new;
    let was = this().is_masked.get();
    let mut will = was;
    if !new.is_null() {
        // SAFETY: the caller's set.
        unsafe {
            open = *new;
            let named = libc::sigismember(new, signal) == 1;
            will = match how {
                libc::SIG_BLOCK => was || named,
                libc::SIG_UNBLOCK => was && !named,
                _ => named,
            };
            if how != libc::SIG_UNBLOCK {
                libc::sigdelset(&raw mut open, signal);
            }
        }
        handed = &raw const open;
    }
    let result = call(handed);
    if result == 0 {
        this().is_masked.set(will);
        if was && !old.is_null() {
            // SAFETY: the caller's place, which was written.
            unsafe { libc::sigaddset(old, signal) };
        }
    }
    result
}

/// A set without the timers' signal, for what waits for signals: ticks are not for the program.
///
/// # Safety
/// `set` is null or valid.
pub unsafe fn without(set: *const sigset_t) -> Option<sigset_t> {
    let signal = tick::signal();
    if signal == 0 || set.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let mut copy = *set;
        libc::sigdelset(&raw mut copy, signal);
        Some(copy)
    }
}

/// Unblocks the timers' signal in the calling thread, which goes on believing that it has blocked it.
pub fn open() {
    let signal = tick::signal();
    if signal == 0 {
        return;
    }
    let (only, mut old) = (1_u64 << (signal - 1), 0_u64);
    // SAFETY: the kernel reads and writes sets of 64 signals.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_UNBLOCK,
            &raw const only,
            &raw mut old,
            size_of_val(&old),
        );
    }
    if old & only != 0 {
        this().is_masked.set(true);
    }
}
