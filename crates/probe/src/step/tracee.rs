//! The child as its tracer sees it; it never outlives this value.

use std::io;
use std::time::{Duration, Instant};

use super::child::{self, Work};
use super::machine::Registers;
use super::{Options, machine};
use crate::Error;

/// What the tracer does next with a stopped child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    /// One instruction.
    Step,
    /// Until something happens.
    On,
}

/// A child that is traced by the calling thread; killed and reaped when dropped.
#[derive(Debug)]
pub(super) struct Tracee {
    pid: libc::pid_t,
    /// A thread or process that it started, which is not allowed.
    offspring: Option<libc::pid_t>,
    ended: bool,
    start: Instant,
    limit: Duration,
}

impl Tracee {
    /// Starts the child and lets it run until it is traced.
    pub(super) fn start(options: &Options, work: Work, empty: Work) -> Result<Self, Error> {
        let start = Instant::now();
        // SAFETY: no pointers.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child only runs `main`, which makes calls that are safe after `fork`, and the work, whose caller
        // is told that it runs in a copy of the process.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(unavailable("fork", &io::Error::last_os_error())),
            0 => child::main(parent, options, work, empty),
            pid => pid,
        };
        let mut tracee = Self { pid, offspring: None, ended: false, start, limit: options.limit };
        match tracee.wait_for_any()? {
            Ended::Stopped(_) => {}
            Ended::Exited(status) if status & child::NO_TIMER != 0 => {
                let error = io::Error::from_raw_os_error(status & !child::NO_TIMER);
                return Err(unavailable("a timer that bounds it", &error));
            }
            Ended::Exited(errno) => return Err(refused(errno)),
            Ended::Killed(signal) => return Err(tracee.killed(signal)),
        }
        let watched = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC;
        // SAFETY: the child is stopped; the request takes no pointer.
        let set = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS as _, pid, 0usize, watched as usize) };
        if set != 0 { Err(unavailable("ptrace", &io::Error::last_os_error())) } else { Ok(tracee) }
    }

    pub(super) fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Lets the child go, delivers a signal to it (0 for none), and waits for its next stop. Returns the stop's signal:
    /// SIGTRAP after a step or at a mark.
    pub(super) fn go(&mut self, go: Go, signal: libc::c_int) -> Result<libc::c_int, Error> {
        let request = if go == Go::Step { libc::PTRACE_SINGLESTEP } else { libc::PTRACE_CONT };
        // SAFETY: neither request takes a pointer.
        if unsafe { libc::ptrace(request as _, self.pid, 0usize, signal as usize) } != 0 {
            let error = io::Error::last_os_error();
            // Killed while it was stopped.
            if error.raw_os_error() != Some(libc::ESRCH) {
                return Err(unavailable("ptrace", &error));
            }
        }
        let status = match self.wait_for_any()? {
            Ended::Stopped(status) => status,
            Ended::Exited(status) => {
                let what = format!("the work ended its process with status {status} instead of returning");
                return Err(Error::work(what));
            }
            Ended::Killed(signal) => return Err(self.killed(signal)),
        };
        match status >> 16 {
            0 => Ok(libc::WSTOPSIG(status)),
            libc::PTRACE_EVENT_EXEC => Err(Error::work("the work replaced its process by another program")),
            _ => {
                let mut born: libc::c_ulong = 0;
                // SAFETY: the message is one long.
                unsafe {
                    libc::ptrace(libc::PTRACE_GETEVENTMSG as _, self.pid, 0usize, &raw mut born);
                }
                self.offspring = libc::pid_t::try_from(born).ok().filter(|&pid| pid > 0);
                Err(Error::work(
                    "the work starts a thread or a process: only what one thread does can be counted",
                ))
            }
        }
    }

    pub(super) fn registers(&self) -> Result<Registers, Error> {
        machine::registers(self.pid).map_err(|error| self.request_failed(&error))
    }

    pub(super) fn set_registers(&self, registers: &Registers) -> Result<(), Error> {
        machine::set_registers(self.pid, registers).map_err(|error| self.request_failed(&error))
    }

    /// Why a request for the stopped child was refused: its time may have run out meanwhile.
    fn request_failed(&self, error: &io::Error) -> Error {
        if error.raw_os_error() == Some(libc::ESRCH) && self.start.elapsed() >= self.limit {
            return super::region::too_long(self.limit);
        }
        unavailable("ptrace", error)
    }

    fn wait_for_any(&mut self) -> Result<Ended, Error> {
        let status = wait(self.pid).map_err(|error| {
            self.ended = true;
            Error::system("the child process that runs the work was lost", error)
        })?;
        if libc::WIFSTOPPED(status) {
            return Ok(Ended::Stopped(status));
        }
        self.ended = true;
        Ok(if libc::WIFEXITED(status) {
            Ended::Exited(libc::WEXITSTATUS(status))
        } else {
            Ended::Killed(libc::WTERMSIG(status))
        })
    }

    fn killed(&self, signal: libc::c_int) -> Error {
        if signal == libc::SIGKILL && self.start.elapsed() >= self.limit {
            return super::region::too_long(self.limit);
        }
        Error::work(format!("the work died by signal {signal}{}", name(signal)))
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // A killed process is reaped only after its threads, which are traced like it.
        let pids = [self.offspring, (!self.ended).then_some(self.pid)];
        for pid in pids.into_iter().rev().flatten() {
            // SAFETY: no pointers; neither has been reaped, so the numbers are still theirs.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        for pid in pids.into_iter().flatten() {
            while wait(pid).is_ok_and(|status| libc::WIFSTOPPED(status)) {
                // A stop that was on its way before the signal.
                // SAFETY: as above.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
    }
}

/// How a wait ended.
enum Ended {
    /// The child is stopped, with this status.
    Stopped(libc::c_int),
    /// It has exited, with this code.
    Exited(libc::c_int),
    /// It has died by this signal.
    Killed(libc::c_int),
}

/// Waits for a process or a traced thread and returns its status.
fn wait(pid: libc::pid_t) -> io::Result<libc::c_int> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for writes.
        if unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } == pid {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

pub(super) fn unavailable(what: &str, error: &io::Error) -> Error {
    Error::not_available(format!("not available: {what}: {error}"))
}

/// Why the child may not be traced, with what is known to forbid it.
fn refused(errno: i32) -> Error {
    let error = unavailable("ptrace", &io::Error::from_raw_os_error(errno));
    let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let hint = match (errno, yama.trim()) {
        (libc::EPERM, scope @ ("2" | "3")) => format!(" (kernel.yama.ptrace_scope is {scope})"),
        (libc::EPERM, _) => " (a debugger traces this process, or a container's rules forbid it)".to_owned(),
        _ => String::new(),
    };
    Error::not_available(format!("{error}{hint}"))
}

fn name(signal: libc::c_int) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGABRT => " (SIGABRT: a panic, or the C library gave up)",
        libc::SIGSYS => " (SIGSYS: a system call that a filter forbids)",
        libc::SIGKILL => " (SIGKILL)",
        _ => "",
    }
}
