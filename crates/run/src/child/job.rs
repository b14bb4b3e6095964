//! What to run, and where.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;
use std::time::Instant;

use coho_platform::pin;
use coho_topology::CpuSet;

use super::{Input, Running, Signals, trace};
use crate::per_process::Turns;

/// Where a command's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// To the caller's standard output.
    #[default]
    Inherited,
    /// To the caller's standard error: its standard output is for results.
    StandardError,
    /// Nowhere.
    Nowhere,
    /// To the caller, who reads it.
    Piped,
    /// To the caller, who reads it, and its standard error too.
    BothPiped,
}

/// What is done to the threads of a command that is traced.
#[derive(Debug, Clone, Default)]
pub struct Traced {
    /// The CPUs that they take in turn as they begin; empty to leave them to the scheduler.
    pub turns: Vec<u32>,
    /// Whether they are sampled, for [`Running::samples`].
    pub are_sampled: bool,
}

/// A command and where it runs.
#[derive(Debug, Clone, Default)]
pub struct Job {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The CPUs that it and its descendants may use; those of the caller if `None`.
    pub cpus: Option<CpuSet>,
    /// Variables to set in its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The CPUs that its processes take in turn, one for each process into which
    /// [`Library::Pin`](crate::preload::Library::Pin) is preloaded; empty to leave processes to the scheduler.
    pub deal: Vec<u32>,
    /// Whether each of its processes into which [`Library::Delegate`](crate::preload::Library::Delegate) is preloaded
    /// takes one of the hosts' CPUs in turn.
    pub hosts_in_turn: bool,
    /// How coho traces it, if it does. A program that is traced gets no rights by its file, such as set-user-ID. Only in
    /// a process that has no children but the commands that it runs.
    pub traced: Option<Traced>,
    /// Whether it is killed if coho is: nobody waits for its result then. Programs that it starts run on.
    pub ends_with_coho: bool,
    /// Where its standard input comes from.
    pub input: Input,
    /// Where its standard output goes.
    pub output: Output,
}

/// Why a command could not be started.
#[derive(Debug)]
pub struct Failed {
    program: String,
    error: io::Error,
    step: Step,
}

/// What failed on the way to a command's start.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Its process, or the program in it.
    Program,
    /// What distributes its processes.
    Turns,
    /// Its standard input.
    Input,
    /// Its CPUs.
    Cpus(CpuSet),
    /// The signals that it begins with.
    Signals,
    /// Tracing it.
    Trace,
}

impl Step {
    /// Marks, which no error number has, of what a child does between `fork` and `exec`: all that reaches the parent
    /// of its failure is one number.
    const CPUS: i32 = 1 << 16;
    const SIGNALS: i32 = 1 << 17;
    const TRACE: i32 = 1 << 18;

    fn marked(error: &io::Error, mark: i32) -> io::Error {
        io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EINVAL) | mark)
    }

    /// The step that a number from the child names, and the error itself.
    fn of(error: io::Error, cpus: Option<&CpuSet>) -> (Self, io::Error) {
        let number = error.raw_os_error().unwrap_or(0);
        let plain = || io::Error::from_raw_os_error(number & !(Self::CPUS | Self::SIGNALS | Self::TRACE));
        match cpus {
            Some(cpus) if number & Self::CPUS != 0 => (Self::Cpus(cpus.clone()), plain()),
            _ if number & Self::SIGNALS != 0 => (Self::Signals, plain()),
            _ if number & Self::TRACE != 0 => (Self::Trace, plain()),
            _ => (Self::Program, error),
        }
    }
}

impl Failed {
    /// The exit status that shells use: 127 if there is no such program, 126 if it cannot be run.
    pub fn exit_status(&self) -> u8 {
        let is_absent = self.step == Step::Program && self.error.kind() == io::ErrorKind::NotFound;
        if is_absent { 127 } else { 126 }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, error, step } = self;
        write!(f, "cannot run '{program}'")?;
        match step {
            Step::Program => write!(f, ": {error}"),
            Step::Turns => write!(f, ": its processes cannot be distributed: {error}"),
            Step::Input => write!(f, ": its standard input cannot be opened again: {error}"),
            Step::Signals => write!(f, ": its signals cannot be set: {error}"),
            Step::Trace => write!(f, ": it cannot be traced: {error}"),
            Step::Cpus(cpus) => {
                write!(f, " on CPU{} {cpus}: ", if cpus.len() == 1 { "" } else { "s" })?;
                match cpus.iter().find_map(pin::refusal) {
                    Some(why) => write!(f, "{why}; or run it without a placement"),
                    None => error.fmt(f),
                }
            }
        }
    }
}

impl std::error::Error for Failed {}

/// Has the calling process killed as soon as its parent, which has this number, ends. If it has ended already, nobody
/// would send the signal.
fn end_with(parent: u32) {
    // SAFETY: numbers alone.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        if libc::getppid() as u32 != parent {
            libc::_exit(128 + libc::SIGKILL);
        }
    }
}

impl Job {
    /// Starts the command on its CPUs, with the signals that the caller was given.
    ///
    /// # Errors
    /// [`Failed`] if there is no such program, it may not be run, the kernel refuses the CPUs, or its processes cannot
    /// be distributed.
    pub fn start(&self, signals: &Signals) -> Result<Running, Failed> {
        let program = self.command.first().cloned().unwrap_or_default();
        let failed = |step, error| Failed { program: program.to_string_lossy().into_owned(), error, step };
        let no_turns = |error| failed(Step::Turns, error);
        let mut command = Command::new(&program);
        command.args(self.command.iter().skip(1)).envs(self.environment.iter().map(|(k, v)| (k, v)));
        let takes_turns = self.hosts_in_turn || !self.deal.is_empty();
        let turns =
            takes_turns.then(|| Turns::new(&self.deal, self.hosts_in_turn)).transpose().map_err(no_turns)?;
        if let Some(turns) = &turns {
            command.envs(turns.environment().map_err(no_turns)?);
        }
        match self.output {
            Output::Inherited => &mut command,
            Output::StandardError => command.stdout(io::stderr()),
            Output::Nowhere => command.stdout(Stdio::null()),
            Output::Piped => command.stdout(Stdio::piped()),
            Output::BothPiped => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
        };
        match self.input {
            Input::Inherited => &mut command,
            Input::Nowhere => command.stdin(Stdio::null()),
            Input::Again(position) => {
                command.stdin(Input::opened_at(position).map_err(|error| failed(Step::Input, error))?)
            }
        };
        let cpus = self.cpus.clone();
        let held = signals.before();
        let is_traced = self.traced.is_some();
        let ends_with = self.ends_with_coho.then(std::process::id);
        let ready = move || {
            if let Some(coho) = ends_with {
                end_with(coho);
            }
            cpus.as_ref().map_or(Ok(()), pin::confine).map_err(|error| Step::marked(&error, Step::CPUS))?;
            // SAFETY: the set was written by the kernel.
            match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &held, ptr::null_mut()) } {
                0 if is_traced => trace::be_traced().map_err(|error| Step::marked(&error, Step::TRACE)),
                0 => Ok(()),
                error => Err(Step::marked(&io::Error::from_raw_os_error(error), Step::SIGNALS)),
            }
        };
        // SAFETY: between fork and exec it makes system calls on memory of its own, and allocates nothing.
        unsafe { command.pre_exec(ready) };
        let started = Instant::now();
        let child = command.spawn().map_err(|error| {
            let (step, error) = Step::of(error, self.cpus.as_ref());
            failed(step, error)
        })?;
        let running = Running::of(child, started, turns);
        match &self.traced {
            Some(traced) => {
                running.traced(traced, self.ends_with_coho).map_err(|error| failed(Step::Trace, error))
            }
            None => Ok(running),
        }
    }
}
