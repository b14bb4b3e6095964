//! The tests that are system calls in a loop: each runs in a process of its own until its time is up.

mod context;
mod copy;
mod jobs;
mod pipe;
mod raw;
mod shell;
mod syscalls;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(super) use context::context;
pub(super) use copy::{Copying, copy};
pub(super) use jobs::{Job, jobs};
pub(super) use pipe::pipe;
pub(super) use shell::shell;
pub(super) use syscalls::syscalls;

use super::report::Report;

/// Variables added to the environment of commands.
pub(super) type Environment<'a> = &'a [(&'static OsStr, OsString)];

/// Set by SIGALRM.
static TIME_IS_UP: AtomicBool = AtomicBool::new(false);

extern "C" fn end_of_time(_: libc::c_int) {
    TIME_IS_UP.store(true, Relaxed);
}

/// What a process was doing when it failed, and the operating system's reason.
#[derive(Debug)]
pub(super) struct Failure {
    doing: &'static str,
    why: io::Error,
}

impl Failure {
    pub(super) fn of(doing: &'static str, why: io::Error) -> Self {
        Self { doing, why }
    }

    /// With the reason of the last system call.
    pub(super) fn new(doing: &'static str) -> Self {
        Self { doing, why: io::Error::last_os_error() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.why)
    }
}

/// What an attempt at `doing` something returned.
fn tried<T>(doing: &'static str, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|why| Failure { doing, why })
}

/// A stretch of time that a signal ends, so that loops need not look at the clock.
struct Stretch(Instant);

impl Stretch {
    /// Begins it; a system call that waits at its end is interrupted.
    fn begin(time: Duration) -> Result<Self, Failure> {
        TIME_IS_UP.store(false, Relaxed);
        // SAFETY: zeroed values are valid, the pointers live through the calls, and the handler stores a flag.
        let set = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = end_of_time as *const () as libc::sighandler_t;
            let mut timer: libc::itimerval = std::mem::zeroed();
            timer.it_value.tv_sec = time.as_secs() as libc::time_t;
            // A zero time would never end.
            timer.it_value.tv_usec = libc::suseconds_t::from(time.subsec_micros().max(1) as i32);
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()) == 0
                && libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) == 0
        };
        if set { Ok(Self(Instant::now())) } else { Err(Failure::new("alarm")) }
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        TIME_IS_UP.load(Relaxed)
    }

    /// A report of `count` loops since it began, for a unit of `timebase_s` seconds.
    fn report(&self, count: u64, timebase_s: f64) -> Report {
        Report { count: count as f64, timebase_s, seconds: Some(self.0.elapsed().as_secs_f64()) }
    }
}

/// The two ends of a pipe, to read and to write.
fn ends() -> Result<[i32; 2], Failure> {
    let mut ends = [0; 2];
    // SAFETY: room for both ends.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } == 0 { Ok(ends) } else { Err(Failure::new("pipe")) }
}
