//! The child's part: it asks to be traced, warms up, and runs the work between two marks.

use std::ffi::c_void;

use coho_platform::timer;

use super::{Options, machine};

/// A closure behind plain pointers, so that the marks can call it by one instruction.
#[derive(Clone, Copy)]
pub(super) struct Work {
    data: *mut c_void,
    run: extern "C" fn(*mut c_void),
}

impl Work {
    /// The closure must live as long as the work is run; it is not run in this process.
    pub(super) fn of<F: FnMut()>(work: &mut F) -> Self {
        extern "C" fn run<F: FnMut()>(work: *mut c_void) {
            // SAFETY: made from `&mut F` below, which the child that runs it holds alone.
            unsafe { (*work.cast::<F>())() }
        }
        Self { data: std::ptr::from_mut(work).cast(), run: run::<F> }
    }
}

/// The exit status by which the child says that its timer could not be set: this and the error's number. Without this
/// bit it is the error of asking to be traced.
pub(super) const NO_TIMER: i32 = 0x80;

/// Signals that the child's own instructions cause; all others are blocked.
const OWN: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// Runs in the new process and ends it.
pub(super) fn main(parent: libc::pid_t, options: &Options, work: Work, empty: Work) -> ! {
    // SAFETY: system calls with valid arguments only, all safe after `fork`; the closures are this process's copies.
    unsafe {
        // The tracer's death ends a traced child; this does so until it is traced.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut blocked);
        for signal in OWN {
            libc::sigdelset(&mut blocked, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &blocked, std::ptr::null_mut());
        // The timer ends a call that never returns, so no watcher is needed.
        if timer::die_after(options.limit).is_err() {
            libc::_exit(NO_TIMER | errno());
        }
        if libc::ptrace(libc::PTRACE_TRACEME, 0, std::ptr::null_mut::<c_void>(), 0) != 0 {
            libc::_exit(errno());
        }
        libc::kill(libc::getpid(), libc::SIGSTOP);
        for _ in 0..options.warm_ups {
            (work.run)(work.data);
        }
        machine::marked(empty.run, empty.data);
        machine::marked(work.run, work.data);
        libc::_exit(0)
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
