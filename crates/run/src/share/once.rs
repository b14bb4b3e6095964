//! One run of the program, which ends in a bounded time if it is asked to.

use std::time::{Duration, Instant};

use coho_model::share::ALONE;

use crate::child::{Job, Samples, Signals, Status, orphans};
use crate::trial::{self, ENDING};

/// What a run took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// CPU time in user mode.
    pub(super) user: Duration,
    /// All CPU time.
    pub(super) cpu: Duration,
    /// From start to end.
    pub(super) elapsed: Duration,
    /// Whether it was killed as its time was up; it then has no CPU time.
    pub(super) was_killed: bool,
}

impl Run {
    /// How many threads ran at once on average.
    pub(super) fn at_once(&self) -> f64 {
        self.cpu.as_secs_f64() / self.elapsed.as_secs_f64()
    }

    /// Whether some ran at the same time.
    pub(super) fn ran_together(&self) -> bool {
        self.at_once() > ALONE
    }
}

/// Runs the program, within a time if there is one; `None` if a signal asked for the end.
pub(super) fn once(
    job: &Job,
    name: &str,
    within: Option<Duration>,
    signals: &Signals,
) -> Result<Option<Run>, trial::Error> {
    Ok(sampled(job, name, within, signals)?.map(|(run, _)| run))
}

/// The same with what was sampled of its threads, if they are.
pub(super) fn sampled(
    job: &Job,
    name: &str,
    within: Option<Duration>,
    signals: &Signals,
) -> Result<Option<(Run, Samples)>, trial::Error> {
    let mut running = job.start(signals).map_err(trial::Error::Start)?;
    let until = within.map(|within| Instant::now() + within);
    let begun = Instant::now();
    let ended = running
        .wait_until(signals, until)
        .map_err(|error| trial::Error::Other(format!("cannot wait for the command: {error}")))?;
    let left = |left: orphans::Left| trial::Error::Other(left.to_string());
    let Some(ended) = ended else {
        let elapsed = begun.elapsed();
        // This kills it.
        drop(running);
        orphans::kill(ENDING).map_err(left)?;
        let run = Run { user: Duration::ZERO, cpu: Duration::ZERO, elapsed, was_killed: true };
        return Ok(Some((run, Samples::default())));
    };
    if ended.asked_to_end {
        let signal = signals.asked_to_end().unwrap_or(libc::SIGTERM);
        orphans::end(signal, ENDING).map_err(left)?;
        return Ok(None);
    }
    if ended.status != Status::Exited(0) {
        return Err(trial::Error::Unsuccessful { placement: name.into(), status: ended.status });
    }
    let usage = ended.usage + orphans::wait(ENDING).map_err(left)?;
    let run = Run { user: usage.user, cpu: usage.cpu, elapsed: ended.wall, was_killed: false };
    Ok(Some((run, running.samples())))
}
