//! Commands that depend on each other, run as `make -jN` would.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::Instant;

use super::{Environment, Failure, Report, tried};

/// A command, and the jobs, by number, that must have ended before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::unixbench) struct Job {
    pub(in crate::unixbench) command: Vec<OsString>,
    pub(in crate::unixbench) after: Vec<usize>,
}

/// Runs all jobs, at most this many at a time, each as soon as it may begin; returns the seconds that they took.
pub(in crate::unixbench) fn jobs(
    jobs: &[Job],
    environment: Environment<'_>,
    at_once: usize,
) -> Result<Report, Failure> {
    let started = Instant::now();
    let mut ended = vec![false; jobs.len()];
    let mut waiting: Vec<usize> = (0..jobs.len()).collect();
    let mut running = BTreeMap::new();
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < at_once {
            let ready = waiting.iter().position(|&job| jobs[job].after.iter().all(|&other| ended[other]));
            let Some(ready) = ready else { break };
            let job = waiting.remove(ready);
            let words = &jobs[job].command;
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).envs(environment.iter().cloned());
            let child = tried("a command", command.spawn())?;
            running.insert(child.id(), job);
        }
        let mut status = 0;
        // SAFETY: `status` is valid for writes. The children are this function's alone, and none is waited for twice.
        let pid = unsafe { libc::wait(&mut status) };
        match u32::try_from(pid).ok().and_then(|pid| running.remove(&pid)) {
            Some(job) if status == 0 => ended[job] = true,
            Some(_) => return Err(Failure { doing: "a command", why: io::Error::other("it failed") }),
            None => return Err(Failure::new("wait")),
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(Report { count: seconds, timebase_s: 0.0, seconds: Some(seconds) })
}
