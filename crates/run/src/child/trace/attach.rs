//! Tracing a process that runs already, for a while.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::{Duration, Instant};

use libc::pid_t;

use super::{Sampler, Samples, Stop, Told, Trace, in_status, next, process_of, request};
use crate::child::Signals;
use crate::child::orphans::{Usage, wait_for};

/// How long the kernel may take to stop a thread that is let go of. One that it cannot stop in time runs on as this
/// process ends.
const LETTING_GO: Duration = Duration::from_secs(5);

/// Why a process cannot be watched.
#[derive(Debug)]
pub enum NotAttached {
    /// There is none of this number.
    NoProcess(u32),
    /// It is a thread of another process.
    Thread(u32, u32),
    /// It is this process.
    Itself,
    /// Its program's instructions are not those that can be read.
    Other32Bit(u32),
    /// Another process traces it.
    Traced(u32, u32),
    /// The kernel refuses to trace it. The second number is `kernel.yama.ptrace_scope`.
    Refused(u32, u32),
    /// Anything else.
    Io(u32, io::Error),
}

impl fmt::Display for NotAttached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProcess(process) => write!(f, "there is no process {process}"),
            Self::Thread(thread, process) => {
                write!(f, "{thread} is a thread of process {process}: name that")
            }
            Self::Itself => f.write_str("a process cannot watch itself"),
            Self::Other32Bit(process) => {
                write!(f, "process {process} runs a 32-bit program, which is not read")
            }
            Self::Traced(process, by) => {
                write!(f, "process {process} is traced by process {by}, and only one may trace it")
            }
            Self::Refused(process, scope) => {
                write!(f, "process {process} may not be traced: ")?;
                f.write_str(match scope {
                    0 => "it belongs to another user, has more rights than its user, or forbids it; root may",
                    1 => "kernel.yama.ptrace_scope is 1, so only its parents and root may",
                    2 => "kernel.yama.ptrace_scope is 2, so only root may",
                    _ => "kernel.yama.ptrace_scope is 3, so nobody may",
                })
            }
            Self::Io(process, error) => write!(f, "process {process} cannot be traced: {error}"),
        }
    }
}

impl std::error::Error for NotAttached {}

/// What was seen of a process.
#[derive(Debug)]
pub struct Watched {
    /// What was sampled.
    pub samples: Samples,
    /// How long.
    pub elapsed: Duration,
    /// Whether it ended meanwhile.
    pub has_ended: bool,
}

/// Samples the threads of a process for a time, or until it ends or a signal asks this process to end, and lets it run on.
/// Only in a process that has no children.
///
/// # Errors
/// [`NotAttached`] if it cannot be traced.
pub fn watch(process: u32, duration: Duration, signals: &Signals) -> Result<Watched, NotAttached> {
    let failed = |error| NotAttached::Io(process, error);
    let begun = Instant::now();
    let mut trace = Trace::attach(process)?;
    let has_ended = trace.watch(begun + duration, signals);
    let elapsed = begun.elapsed();
    let samples = trace.samples();
    if !matches!(has_ended, Ok(true)) {
        trace.let_go().map_err(failed)?;
    }
    Ok(Watched { samples, elapsed, has_ended: has_ended.map_err(failed)? })
}

impl Trace {
    fn attach(number: u32) -> Result<Self, NotAttached> {
        let process = pid_t::try_from(number).map_err(|_| NotAttached::NoProcess(number))?;
        match process_of(process) {
            None => return Err(NotAttached::NoProcess(number)),
            Some(of) if of != process => return Err(NotAttached::Thread(number, of as u32)),
            Some(_) if number == std::process::id() => return Err(NotAttached::Itself),
            Some(_) => {}
        }
        if is_32_bit(process) {
            return Err(NotAttached::Other32Bit(number));
        }
        let mut trace = Self::new(process);
        let attached = trace.seize_all().and_then(|()| {
            let mut sampler = Sampler::begin(process)?;
            trace.threads.iter().for_each(|thread| sampler.add(*thread));
            trace.sampler = Some(sampler);
            Ok(())
        });
        attached.map_err(|error| {
            let _ = trace.let_go();
            match (error.raw_os_error(), tracer_of(process)) {
                (Some(libc::ESRCH), _) => NotAttached::NoProcess(number),
                (Some(libc::EPERM), by) if by != 0 => NotAttached::Traced(number, by),
                (Some(libc::EPERM), _) => NotAttached::Refused(number, scope()),
                _ => NotAttached::Io(number, error),
            }
        })?;
        Ok(trace)
    }

    /// Traces every thread; those that begin meanwhile are traced as their makers are.
    fn seize_all(&mut self) -> io::Result<()> {
        request::seize(self.process)?;
        loop {
            let new: Vec<pid_t> = tasks(self.process).filter(|task| !self.has(*task)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for thread in new {
                match request::seize(thread) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                    Err(error) if tracer_of(thread) != std::process::id() => return Err(error),
                    _ => {}
                }
                self.threads.insert(thread);
            }
        }
    }

    /// Whether the process ended.
    fn watch(&mut self, until: Instant, signals: &Signals) -> io::Result<bool> {
        loop {
            if self.answer(&mut Usage::default())? {
                // Its parent hears of the end once its tracer has.
                wait_for(self.process as u32)?;
                return Ok(true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.asked_to_end().is_some() {
                return Ok(false);
            }
            let tick = self.tick().unwrap_or(left);
            signals.next(left.min(tick));
        }
    }

    /// Lets all threads run on as they are, each with the signal that it was about to get.
    fn let_go(&mut self) -> io::Result<()> {
        let until = Instant::now() + LETTING_GO;
        let own = std::process::id();
        while Instant::now() < until {
            let traced: Vec<pid_t> = tasks(self.process).filter(|task| tracer_of(*task) == own).collect();
            if traced.is_empty() {
                return Ok(());
            }
            for thread in traced {
                let _ = request::interrupt(thread);
            }
            std::thread::sleep(Duration::from_millis(1));
            while let Some((thread, told)) = next()? {
                let done = match told {
                    Told::Stopped(Stop::Signal(signal)) => request::detach(thread, signal),
                    Told::Stopped(_) => request::detach(thread, 0),
                    Told::Ended => wait_for(thread as u32).map(drop),
                };
                // A thread may be killed while it is stopped.
                done.or_else(|error| match error.raw_os_error() {
                    Some(libc::ESRCH | libc::ECHILD) => Ok(()),
                    _ => Err(error),
                })?;
            }
        }
        Ok(())
    }
}

fn tasks(process: pid_t) -> impl Iterator<Item = pid_t> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The process that traces a thread; 0 if none does.
fn tracer_of(thread: pid_t) -> u32 {
    in_status(thread, "TracerPid:").map_or(0, |tracer| tracer as u32)
}

/// Whether it runs a 32-bit program, as far as that may be known.
fn is_32_bit(process: pid_t) -> bool {
    let mut head = [0; 5];
    let read = File::open(format!("/proc/{process}/exe")).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF\x01"
}

/// Whom Yama lets trace a process; 0 without it.
fn scope() -> u32 {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    scope.trim().parse().unwrap_or(0)
}
