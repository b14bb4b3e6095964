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

use super::{Running, Signals};
use crate::per_process::Turns;

/// Where a command's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// To the caller's standard output.
    #[default]
    Inherited,
    /// To the caller's standard error: its standard output is for results.
    StandardError,
    /// Nowhere; the command then has no standard input either.
    Nowhere,
    /// To the caller, who reads it.
    Piped,
    /// To the caller, who reads it, and its standard error too.
    BothPiped,
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
    /// Where its standard output goes.
    pub output: Output,
}

/// Why a command could not be started.
#[derive(Debug)]
pub struct Failed {
    program: String,
    error: io::Error,
}

impl Failed {
    /// The exit status that shells use: 127 if there is no such program, 126 if it cannot be run.
    pub fn exit_status(&self) -> u8 {
        if self.error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot run '{}': {}", self.program, self.error)
    }
}

impl std::error::Error for Failed {}

impl Job {
    /// Starts the command on its CPUs, with the signals that the caller was given.
    ///
    /// # Errors
    /// [`Failed`] if there is no such program, it may not be run, the kernel refuses the CPUs, or its processes cannot
    /// be distributed.
    pub fn start(&self, signals: &Signals) -> Result<Running, Failed> {
        let program = self.command.first().cloned().unwrap_or_default();
        let failed = |error| Failed { program: program.to_string_lossy().into_owned(), error };
        let mut command = Command::new(&program);
        command.args(self.command.iter().skip(1)).envs(self.environment.iter().map(|(k, v)| (k, v)));
        let turns = (!self.deal.is_empty()).then(|| Turns::new(&self.deal)).transpose().map_err(failed)?;
        if let Some(turns) = &turns {
            command.envs(turns.environment().map_err(failed)?);
        }
        match self.output {
            Output::Inherited => &mut command,
            Output::StandardError => command.stdout(io::stderr()),
            Output::Nowhere => command.stdin(Stdio::null()).stdout(Stdio::null()),
            Output::Piped => command.stdout(Stdio::piped()),
            Output::BothPiped => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
        };
        let cpus = self.cpus.clone();
        let held = signals.before();
        let ready = move || {
            cpus.as_ref().map_or(Ok(()), pin::confine)?;
            // SAFETY: the set was written by the kernel.
            match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &held, ptr::null_mut()) } {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        };
        // SAFETY: between fork and exec it makes two system calls on memory of its own, and allocates nothing.
        unsafe { command.pre_exec(ready) };
        let started = Instant::now();
        let child = command.spawn().map_err(failed)?;
        Ok(Running::of(child, started, turns))
    }
}
