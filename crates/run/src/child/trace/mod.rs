//! A command that is traced: coho hears of each thread as it begins, and can move it. For programs that no library can be
//! preloaded into.

mod attach;
mod request;
#[cfg(target_arch = "x86_64")]
mod sample;
#[cfg(not(target_arch = "x86_64"))]
#[path = "sample/none.rs"]
mod sample;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use coho_platform::pin;
use coho_recording::Item;
use coho_topology::CpuSet;
use libc::{c_int, pid_t};

pub use attach::{NotAttached, Watched, watch};
pub(super) use request::be_traced;
pub use sample::why_no_samples;

use super::Traced;
use super::orphans::{Usage, wait_for};
use sample::Sampler;

/// The samples of a program's threads: what a preloaded library would have recorded, except for allocations.
#[derive(Debug, Default)]
pub struct Samples {
    /// In the order of time.
    pub items: Vec<Item>,
    /// Items beyond those that are kept.
    pub lost: u64,
    /// Folders of which files are named.
    pub roots: Vec<Arc<File>>,
}

/// The threads of one process. Processes that it starts are let go of at once. Only the thread that started it may ask
/// for anything.
#[derive(Debug)]
pub(super) struct Trace {
    process: pid_t,
    /// The CPUs that its threads take in turn.
    order: Vec<u32>,
    /// The CPUs that it had before.
    wide: CpuSet,
    /// Its threads, but for the first.
    threads: HashSet<pid_t>,
    /// How many threads have begun, not counting the first.
    begun: usize,
    sampler: Option<Sampler>,
}

/// What the kernel tells of a thread or a child.
enum Told {
    Ended,
    Stopped(Stop),
}

/// Why a thread is stopped.
enum Stop {
    /// It would get this signal.
    Signal(c_int),
    /// A signal has stopped its process.
    WithItsProcess,
    /// It has just begun.
    Begun,
    /// It executes another program, which has one thread.
    Executes,
    /// It has started another thread or process.
    Other,
}

impl Stop {
    fn of(status: c_int) -> Self {
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            0 => Self::Signal(signal),
            libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Self::Begun,
            libc::PTRACE_EVENT_STOP => Self::WithItsProcess,
            libc::PTRACE_EVENT_EXEC => Self::Executes,
            _ => Self::Other,
        }
    }
}

impl Trace {
    /// Begins to trace a child that has asked for it and has just executed its program.
    pub(super) fn begin(child: u32, how: &Traced, ends_with_coho: bool) -> io::Result<Self> {
        let process = child as pid_t;
        stopped(process)?;
        // New threads of one who asked to be traced begin with a SIGSTOP, which cannot be told from one that the program
        // sends. So it is let go of, stopped, and traced in the newer way.
        request::detach(process, libc::SIGSTOP)?;
        if ends_with_coho {
            request::seize_to_end(process)?;
        } else {
            request::seize(process)?;
        }
        // A SIGCONT that came before would not end the stop.
        while !matches!(stopped(process)?, Stop::WithItsProcess) {
            request::go_on(process, 0)?;
        }
        request::leave_stopped(process)?;
        // SAFETY: no pointers; the child has not been waited for.
        if unsafe { libc::kill(process, libc::SIGCONT) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let wide = pin::of_thread(child).map_err(io::Error::other)?;
        let sampler = how.are_sampled.then(|| Sampler::begin(process)).transpose()?;
        Ok(Self { order: how.turns.clone(), wide, sampler, ..Self::new(process) })
    }

    /// Of a process with one thread, which is neither moved nor sampled.
    fn new(process: pid_t) -> Self {
        let (order, wide) = (Vec::new(), CpuSet::default());
        Self { process, order, wide, threads: HashSet::new(), begun: 0, sampler: None }
    }

    /// Whether a thread is one of the process.
    fn has(&self, thread: pid_t) -> bool {
        thread == self.process || self.threads.contains(&thread)
    }

    /// Has threads sampled if it is time for that, and says when it is again; `None` if they are not sampled.
    pub(super) fn tick(&mut self) -> Option<Duration> {
        self.sampler.as_mut().map(Sampler::tick)
    }

    /// What was sampled, once.
    pub(super) fn samples(&mut self) -> Samples {
        self.sampler.as_mut().map(Sampler::samples).unwrap_or_default()
    }

    /// Answers everything that has happened, adds what descendants used that ended as children of coho, and says whether
    /// the process has ended, which is left to be waited for: as long as it has not, a wait would take its stops.
    pub(super) fn answer(&mut self, usage: &mut Usage) -> io::Result<bool> {
        while let Some((thread, told)) = next()? {
            match told {
                Told::Ended => {
                    if let Some(sampler) = &mut self.sampler {
                        sampler.end(thread);
                    }
                    if thread == self.process {
                        return Ok(true);
                    }
                    let its = wait_for(thread as u32)?;
                    // What a thread used, its process did.
                    if let Some((_, its)) = its.filter(|_| !self.threads.remove(&thread)) {
                        *usage += its;
                    }
                }
                Told::Stopped(stop) => match self.answer_stop(thread, stop) {
                    // A thread may be killed while it is stopped.
                    Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error),
                    _ => {}
                },
            }
        }
        Ok(false)
    }

    fn answer_stop(&mut self, thread: pid_t, stop: Stop) -> io::Result<()> {
        // Any stop takes the place of the one that was asked for.
        let is_due = self.sampler.as_mut().is_some_and(|sampler| sampler.is_stopped(thread));
        match stop {
            Stop::Signal(signal) => return request::go_on(thread, signal),
            Stop::WithItsProcess => return request::leave_stopped(thread),
            Stop::Begun if self.has(thread) => {
                if let Some(sampler) = self.sampler.as_mut().filter(|_| is_due) {
                    sampler.sample(thread)?;
                }
            }
            Stop::Begun if process_of(thread) != Some(self.process) => {
                self.widen(thread);
                return request::detach(thread, 0);
            }
            Stop::Begun => {
                self.deal(thread);
                if let Some(sampler) = &mut self.sampler {
                    sampler.add(thread);
                }
            }
            Stop::Executes => {
                self.widen(thread);
                self.threads.clear();
                self.begun = 0;
                if let Some(sampler) = &mut self.sampler {
                    sampler.begin_anew();
                }
            }
            Stop::Other => {}
        }
        request::go_on(thread, 0)
    }

    /// Gives a new thread the next CPU, and the first thread the first one once there is a second. A thread to which the
    /// program gives CPUs of its own gets these later.
    fn deal(&mut self, thread: pid_t) {
        self.threads.insert(thread);
        if self.order.is_empty() {
            return;
        }
        if self.begun == 0 {
            confine(self.process, &CpuSet::from_iter([self.order[0]]));
        }
        self.begun += 1;
        confine(thread, &CpuSet::from_iter([self.order[self.begun % self.order.len()]]));
    }

    /// Gives what is not a thread of the process, or no longer, the CPUs that a thread lost to its place.
    fn widen(&self, thread: pid_t) {
        let is_dealt = pin::of_thread(thread as u32).is_ok_and(|cpus| cpus.len() == 1);
        if is_dealt && self.begun > 0 {
            confine(thread, &self.wide);
        }
    }
}

/// Waits until a traced process that has one thread is stopped.
fn stopped(process: pid_t) -> io::Result<Stop> {
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    if unsafe { libc::waitpid(process, &mut status, libc::__WALL) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if libc::WIFSTOPPED(status) {
        Ok(Stop::of(status))
    } else {
        Err(io::Error::other("it was ended meanwhile"))
    }
}

/// A thread that has ended meanwhile, or lost its CPU to a cpuset, stays as it is.
fn confine(thread: pid_t, cpus: &CpuSet) {
    let _ = pin::confine_thread(thread as u32, cpus);
}

/// The process of a thread.
fn process_of(thread: pid_t) -> Option<pid_t> {
    in_status(thread, "Tgid:")
}

/// A number that the kernel tells of a thread; `None` if the thread is gone.
fn in_status(thread: pid_t, name: &str) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// The next thing that happened to a traced thread or to a child. What has ended is left to be waited for.
fn next() -> io::Result<Option<(pid_t, Told)>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the kernel fills what it is given, of which zeroes are valid and mean that nothing has happened.
    let (result, thread, code) = unsafe {
        let result = libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), how);
        let info = info.assume_init();
        (result, info.si_pid(), info.si_code)
    };
    if result != 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ECHILD) { Ok(None) } else { Err(error) };
    }
    if thread == 0 {
        return Ok(None);
    }
    if matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
        return Ok(Some((thread, Told::Ended)));
    }
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    match unsafe { libc::waitpid(thread, &mut status, libc::WNOHANG | libc::__WALL) } {
        -1 => Err(io::Error::last_os_error()),
        _ if libc::WIFSTOPPED(status) => Ok(Some((thread, Told::Stopped(Stop::of(status))))),
        // It was killed in between.
        _ => Ok(None),
    }
}
