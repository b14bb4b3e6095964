//! A command that runs, and its end.

use std::io;
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use super::orphans::{self, Usage};
use super::trace::{Samples, Trace};
use super::{Signal, Signals, Traced};
use crate::per_process::Turns;

/// How long a wait for signals lasts at most: an end without a signal is noticed after this time.
const AT_MOST: Duration = Duration::from_secs(1);

/// A command that was started. If it has not been waited for when this is dropped, it is killed, because nothing passes
/// signals on to it any more.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    /// Whether it has been waited for.
    has_ended: bool,
    /// Signals that asked for an end.
    asked_to_end: bool,
    /// Usage of descendants that were waited for in place of their parents.
    orphans: Usage,
    /// Whose turn it is, if its processes are distributed.
    _turns: Option<Turns>,
    /// Its threads, if it is traced.
    trace: Option<Trace>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself.
    Exited(u8),
    /// By a signal.
    Signalled(i32),
}

impl Status {
    /// The status that a shell would give: 128 plus the number of a signal.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }

    /// Whether it ended well.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// How a command ended and what it used, including the descendants that were waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// How.
    pub status: Status,
    /// From start to end.
    pub wall: Duration,
    /// What it used.
    pub usage: Usage,
    /// Whether a signal to end came while it ran.
    pub asked_to_end: bool,
}

impl Running {
    pub(super) fn of(child: Child, started: Instant, turns: Option<Turns>) -> Self {
        let orphans = Usage::default();
        Self { child, started, has_ended: false, asked_to_end: false, orphans, _turns: turns, trace: None }
    }

    /// Traces it, which has asked for that; it may be killed if coho is. As [`orphans::adopt`] for the process's other children.
    pub(super) fn traced(mut self, how: &Traced, ends_with_coho: bool) -> io::Result<Self> {
        orphans::adopt()?;
        self.trace = Some(Trace::begin(self.child.id(), how, ends_with_coho)?);
        Ok(self)
    }

    /// What was sampled of its threads, once.
    pub fn samples(&mut self) -> Samples {
        self.trace.as_mut().map(Trace::samples).unwrap_or_default()
    }

    /// The command's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output, if that is piped.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Its standard error, if that is piped.
    pub fn errors(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Passes signals on until the command ends; `None` if the given time comes first.
    ///
    /// # Errors
    /// If the command cannot be waited for.
    pub fn wait_until(&mut self, signals: &Signals, until: Option<Instant>) -> io::Result<Option<Ended>> {
        loop {
            if let Some(ended) = self.ended()? {
                return Ok(Some(ended));
            }
            let tick = self.trace.as_mut().and_then(Trace::tick).unwrap_or(AT_MOST);
            let left = until.map_or(AT_MOST, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            if let Some(signal) = signals.next(left.min(tick)) {
                self.hand_on(signal);
            }
        }
    }

    /// Passes signals on until the command ends.
    ///
    /// # Errors
    /// If the command cannot be waited for.
    pub fn wait(mut self, signals: &Signals) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.wait_until(signals, None)? {
                return Ok(ended);
            }
        }
    }

    fn hand_on(&mut self, signal: Signal) {
        self.asked_to_end |= signal.ends();
        if signal.number != libc::SIGCHLD && !signal.from_kernel {
            // SAFETY: the child has not been waited for, so that its number is still its own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, signal.number) };
        }
    }

    /// The end, if it has come. The child is waited for here and nowhere else.
    fn ended(&mut self) -> io::Result<Option<Ended>> {
        if let Some(trace) = &mut self.trace {
            if !trace.answer(&mut self.orphans)? {
                return Ok(None);
            }
        } else if orphans::adopted() {
            self.orphans += orphans::reap(self.child.id());
        }
        let Some((status, usage)) = orphans::wait_for(self.child.id())? else { return Ok(None) };
        self.has_ended = true;
        let wall = self.started.elapsed();
        let status = if libc::WIFSIGNALED(status) {
            Status::Signalled(libc::WTERMSIG(status))
        } else {
            Status::Exited(libc::WEXITSTATUS(status) as u8)
        };
        Ok(Some(Ended { status, wall, usage: self.orphans + usage, asked_to_end: self.asked_to_end }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended {
            // Its number is still its own. If it cannot be killed, it has other rights than this process.
            if self.child.kill().is_ok() {
                // Threads that are traced are waited for one by one, and the process after them.
                while let Some(trace) = &mut self.trace
                    && matches!(trace.answer(&mut self.orphans), Ok(false))
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let _ = self.child.wait();
            }
        }
    }
}
