//! Functions that take the place of the C library's.

use std::ffi::c_void;

use coho_preload::{Errno, Next, call_next};
use libc::{c_int, pthread_attr_t, pthread_t, sighandler_t, siginfo_t, sigset_t, timespec};

use super::thread::{self, Start};
use super::{modules, next, signals};

/// Ends the process by one of the functions after which no library's last function is called.
///
/// # Safety
/// As those.
unsafe fn ends(function: &'static Next, status: c_int) -> ! {
    let _errno = Errno::kept();
    modules::record();
    // SAFETY: the caller's promises are handed on.
    unsafe { call_next!(function; status; c_int; !) }
}

macro_rules! replacing {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty => $body:expr;)+) => { $(
        /// Takes the place of the C library's function of this name.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            // SAFETY: the caller's promises are handed on.
            unsafe { $body }
        }
    )+ };
}

replacing! {
    pthread_create(
        thread: *mut pthread_t,
        attributes: *const pthread_attr_t,
        start: Start,
        argument: *mut c_void
    ) -> c_int => thread::create(thread, attributes, start, argument);
    sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int =>
        signals::act(signal, new, old);
    signal(signal: c_int, handler: sighandler_t) -> sighandler_t => signals::handle(signal, handler);
    pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int =>
        signals::mask(how, new, old, |new| call_next!(next::pthread_sigmask; how, new, old;
            c_int, *const sigset_t, *mut sigset_t; c_int));
    sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int =>
        signals::mask(how, new, old, |new| call_next!(next::sigprocmask; how, new, old;
            c_int, *const sigset_t, *mut sigset_t; c_int));
    sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int => {
        let other = signals::without(set);
        let set = other.as_ref().map_or(set, |set| set);
        call_next!(next::sigwait; set, signal; *const sigset_t, *mut c_int; c_int)
    };
    sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int => {
        let other = signals::without(set);
        let set = other.as_ref().map_or(set, |set| set);
        call_next!(next::sigwaitinfo; set, info; *const sigset_t, *mut siginfo_t; c_int)
    };
    sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, within: *const timespec) -> c_int => {
        let other = signals::without(set);
        let set = other.as_ref().map_or(set, |set| set);
        call_next!(next::sigtimedwait; set, info, within; *const sigset_t, *mut siginfo_t, *const timespec; c_int)
    };
    signalfd(file: c_int, set: *const sigset_t, flags: c_int) -> c_int => {
        let other = signals::without(set);
        let set = other.as_ref().map_or(set, |set| set);
        call_next!(next::signalfd; file, set, flags; c_int, *const sigset_t, c_int; c_int)
    };
    dlclose(library: *mut c_void) -> c_int => {
        // What it unloads would not be told any more.
        modules::record();
        call_next!(next::dlclose; library; *mut c_void; c_int)
    };
    _exit(status: c_int) -> ! => ends(&next::_exit, status);
    _Exit(status: c_int) -> ! => ends(&next::_Exit, status);
    quick_exit(status: c_int) -> ! => ends(&next::quick_exit, status);
    thrd_create(thread: *mut pthread_t, start: Start, argument: *mut c_void) -> c_int => {
        // The C library's takes an `int` for what `start` returns, of which this hands on all bytes.
        match thread::create(thread, std::ptr::null(), start, argument) {
            0 => 0,
            libc::ENOMEM => 3,
            _ => 2,
        }
    };
}
