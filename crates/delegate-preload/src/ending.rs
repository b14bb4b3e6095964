//! Where delegation ends: with the process, its first thread, a fork or a change of rights.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::line;

use crate::descriptors::errors;
use crate::guards::{Errno, NotCancelled};
use crate::state::is_vforked;
use crate::{auto, cpus, hosts, mine, state, write_queue};

/// What its other threads know the program's first one by; 0 if another one loaded the library.
static FIRST_THREAD: AtomicUsize = AtomicUsize::new(0);

/// The library is loaded, by the program's first thread unless it was opened later.
pub fn remember_first_thread() {
    if is_first_thread() {
        // SAFETY: no arguments.
        FIRST_THREAD.store(unsafe { libc::pthread_self() } as usize, Relaxed);
    }
}

fn is_first_thread() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Called when a thread is about to end. Once the first one has left, no host may stay behind as the last: as hosts block all
/// signals, only SIGKILL would end the process.
pub fn leave() {
    if is_first_thread() {
        end("pthread_exit");
    }
}

/// A thread is about to be cancelled.
pub fn leaves(thread: libc::pthread_t) {
    if thread as usize == FIRST_THREAD.load(Relaxed) {
        end("pthread_cancel");
    }
}

/// The child begins with all done that its parent has asked for, and with its parent's CPUs.
pub unsafe extern "C" fn before_fork() {
    write_queue::drain();
    cpus::give_back();
}

/// In a forked process.
pub unsafe extern "C" fn forked() {
    state::is_now_forked();
    write_queue::is_empty();
    errors::forget_all();
}

/// Has this process make its calls itself from now on, because it calls a function.
pub fn end(function: &str) {
    end_as(format_args!("the program calls {function}"));
}

/// The same, for another reason.
#[cold]
pub fn end_as(why: std::fmt::Arguments<'_>) {
    if is_vforked() {
        return;
    }
    let _errno = Errno::kept();
    let _not_cancelled = NotCancelled::now();
    if state::delegate_none() != 0 && state::is_verbose() {
        line("delegate", format_args!("{why}: it makes its calls itself from now on"));
    }
    if !state::is_forked() {
        write_queue::drain();
        hosts::end();
        cpus::give_back();
    }
}

/// Has writes done at once from now on, and waits for what was accepted: the process is about to end.
pub fn finish() {
    if !is_vforked() {
        state::write_at_once();
    }
    write_queue::drain();
}

/// What comes now, as stdio's last writes, nobody would wait for.
pub extern "C" fn settle() {
    finish();
    write_queue::end();
}

/// Prints what was delegated, at exit.
pub extern "C" fn report() {
    write_queue::drain();
    let away = mine::delegated();
    if !state::is_forked() {
        // Not counting what nobody waited for, nor what has only woken them.
        let later = write_queue::accepted();
        let by_hosts = hosts::served().saturating_sub(later).min(away);
        line("delegate", format_args!("{away} calls delegated, {by_hosts} of them executed by hosts"));
        if later > 0 {
            line("delegate", format_args!("{later} writes done later"));
            write_queue::print();
        }
        auto::print();
    }
}
