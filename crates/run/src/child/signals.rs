//! Signals that are meant for the command.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// Signals that a sender may mean for the command. A terminal's stop and continue reach the whole foreground by
/// themselves.
const HANDED_ON: [libc::c_int; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
];

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Whether the kernel sent it, as it does for a terminal's keys: it has then reached the command as well.
    pub from_kernel: bool,
    /// Whether the process was started with it ignored, as `nohup` does with SIGHUP.
    pub ignored: bool,
}

impl Signal {
    /// Whether it asks for an end and was not ignored when this process started.
    pub fn ends(self) -> bool {
        !self.ignored && matches!(self.number, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM)
    }
}

/// Holds signals back from the calling thread until it asks for them. Dropping this restores the previous mask.
///
/// Create it before any other thread: threads inherit the mask.
#[derive(Debug)]
pub struct Signals {
    held: libc::sigset_t,
    before: libc::sigset_t,
    /// Those that were ignored: a blocked signal is queued nevertheless.
    ignored: Vec<libc::c_int>,
    /// The first that asked for an end.
    asked_to_end: Cell<Option<libc::c_int>>,
}

impl Signals {
    /// From now on signals are held back.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn hold() -> io::Result<Self> {
        let mut held = empty();
        let mut before = empty();
        // SAFETY: both sets are initialised. Ended children are waited for, which an inherited SIG_IGN would prevent.
        let result = unsafe {
            for signal in HANDED_ON.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(&mut held, signal);
            }
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before)
        };
        let ignored = HANDED_ON.into_iter().filter(|&signal| is_ignored(signal)).collect();
        let asked_to_end = Cell::new(None);
        if result == 0 {
            Ok(Self { held, before, ignored, asked_to_end })
        } else {
            Err(io::Error::from_raw_os_error(result))
        }
    }

    /// The next signal, or `None` when the time is up. The end of a child counts as a signal.
    pub fn next(&self, within: Duration) -> Option<Signal> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let time = libc::timespec {
            tv_sec: within.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: within.subsec_nanos().into(),
        };
        // SAFETY: set and time are initialised, and the kernel fills what it is given.
        let number = unsafe { libc::sigtimedwait(&self.held, info.as_mut_ptr(), &time) };
        // SAFETY: zeroes are valid, and so is what the kernel writes.
        let info = unsafe { info.assume_init() };
        let ignored = self.ignored.contains(&number);
        let signal = (number > 0).then_some(Signal { number, from_kernel: info.si_code > 0, ignored })?;
        if signal.ends() && self.asked_to_end.get().is_none() {
            self.asked_to_end.set(Some(number));
        }
        Some(signal)
    }

    /// The first signal so far that asked for an end.
    pub fn asked_to_end(&self) -> Option<i32> {
        self.asked_to_end.get()
    }

    /// The previous mask, with which the command begins.
    pub(super) fn before(&self) -> libc::sigset_t {
        self.before
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set was written by the kernel.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is set, and the kernel fills the old one, of which zeroes are a valid state.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call initialises the set and cannot fail.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}
