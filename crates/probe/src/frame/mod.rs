//! What every experiment has around it: its CPUs with a pinned thread on each, its end, passes in random order,
//! progress, what was taken from it meanwhile, and finally the section's [`Method`].

mod end;
mod passes;
mod progress;

use std::time::{Duration, Instant};

use coho_platform::cgroup;
use coho_platform::stolen::{Steal, WaitingForOthers};
use coho_profile::Method;
use fastrand::Rng;
use serde_json::{Value, json};

pub(crate) use end::End;
pub(crate) use passes::{Passes, Step};
pub(crate) use progress::Phase;
pub use progress::Progress;

use crate::host::run_date;
use crate::workers::{Done, Workers};
use crate::{Course, Error};

/// An experiment under way.
pub(crate) struct Frame<'p> {
    /// The CPUs that take part, in ascending order.
    pub(crate) cpus: Vec<u32>,
    /// A pinned thread on each of them.
    pub(crate) workers: Workers,
    /// For all random choices.
    pub(crate) random: Rng,
    /// What is known so far about how it is measured.
    pub(crate) method: Method,
    end: End,
    started: Instant,
    steal: Steal,
    waiting: WaitingForOthers,
    seed: u64,
    progress: &'p mut dyn FnMut(Progress),
}

/// Passes of a phase.
pub(crate) struct Walk {
    passes: Passes,
    phase: Phase,
}

impl<'p> Frame<'p> {
    /// Begins as a course says, with a pinned thread on each of its CPUs.
    ///
    /// # Errors
    /// If one of the CPUs cannot be used.
    pub(crate) fn on(course: &Course, progress: &'p mut dyn FnMut(Progress)) -> Result<Self, Error> {
        let workers = Workers::start(&course.all()?)?;
        let bare = Self::bare(&course.moved(workers.cpus()), progress);
        Ok(Self { workers, ..bare })
    }

    /// Begins without threads, for an experiment on threads of its own; the course names the CPUs.
    pub(crate) fn bare(course: &Course, progress: &'p mut dyn FnMut(Progress)) -> Self {
        let Course { cpus, time_limit, seed } = course.clone();
        let started = Instant::now();
        Self {
            workers: Workers::none(),
            random: Rng::with_seed(seed),
            method: Method { date: Some(run_date()), ..Method::default() },
            end: End::after(started, time_limit),
            started,
            steal: Steal::from_now(cpus.iter().copied().collect()),
            waiting: WaitingForOthers::from_now(),
            seed,
            progress,
            cpus,
        }
    }

    /// The end, for code that cannot ask the frame.
    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    /// Since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Passes over `things`; [`Self::next`] gives their steps.
    pub(crate) fn passes(&mut self, phase: &'static str, passes: usize, things: usize) -> Walk {
        let passes = Passes::new(passes, things, &mut self.random, &self.end);
        Walk { phase: Phase::new(phase, passes.total() as u64), passes }
    }

    /// As many passes as there is time for, at most `passes`.
    pub(crate) fn passes_within(
        &mut self,
        phase: &'static str,
        (time, most): (Duration, usize),
        things: usize,
    ) -> Walk {
        let passes = Passes::new(most, things, &mut self.random, &self.end).within(time);
        Walk { phase: Phase::of_time(phase, time), passes }
    }

    /// The next step; the previous one is then done. After the last step, counts the complete passes.
    pub(crate) fn next(&mut self, walk: &mut Walk) -> Option<Step> {
        if walk.passes.given() > 0 {
            self.advance(&mut walk.phase, 1);
        }
        let step = walk.passes.next();
        if step.is_none() {
            self.method.passes += walk.passes.complete() as u64;
        }
        step
    }

    /// Visits each of some things in every pass.
    ///
    /// # Errors
    /// As for a visit; the first error ends the passes.
    pub(crate) fn visit_all<T, E>(
        &mut self,
        phase: &'static str,
        passes: usize,
        things: &mut [T],
        mut visit: impl FnMut(&mut Self, &mut T, Step) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut walk = self.passes(phase, passes, things.len());
        while let Some(step) = self.next(&mut walk) {
            visit(self, &mut things[step.at], step)?;
        }
        Ok(())
    }

    /// Records that this many steps of a phase are done.
    pub(crate) fn advance(&mut self, phase: &mut Phase, steps: u64) {
        (self.progress)(phase.advance(steps));
    }

    /// The value of a job on a CPU's thread.
    ///
    /// # Errors
    /// If the thread is not there or has lost its CPU.
    pub(crate) fn run<'env, T: Send + 'env>(
        &mut self,
        cpu: u32,
        job: impl FnOnce() -> T + Send + 'env,
    ) -> Result<T, Error> {
        let done = self.workers.run(vec![(cpu, Box::new(job))]).pop().expect("one job has one outcome")?;
        Ok(self.value(done))
    }

    /// The value of a job, whose interruptions count.
    pub(crate) fn value<T>(&mut self, done: Done<T>) -> T {
        self.method.involuntary_switches += done.involuntary_switches;
        done.value
    }

    /// What is not measured, and why.
    pub(crate) fn lacks(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.method.not_available.insert(what.into(), why.into());
    }

    /// A parameter of the measurement.
    pub(crate) fn parameter(&mut self, name: &str, value: impl Into<Value>) {
        self.method.parameters.insert(name.into(), value.into());
    }

    /// How it was measured.
    pub(crate) fn finish(mut self, description: &str) -> Method {
        self.parameter("cpus", json!(self.cpus));
        self.parameter("seed", self.seed);
        if let Some(quota) = cgroup::cpu_quota() {
            self.parameter("cpu_quota", quota);
        }
        if let Some(share) = self.waiting.share() {
            self.parameter("waiting_for_cpus_percent", (100.0 * share).round());
        }
        let steal_s = self.steal.seconds();
        if steal_s.is_none() {
            self.lacks("steal", "/proc/stat does not report it");
        }
        Method {
            description: description.into(),
            duration_s: self.started.elapsed().as_secs_f64(),
            interrupted: self.end.was_heard(),
            steal_s: steal_s.unwrap_or(0.0),
            ..self.method
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_leaves_its_method() {
        let cpu = Course::default().first().unwrap();
        let mut told = Vec::new();
        let mut note = |progress: Progress| told.push((progress.phase, progress.done, progress.total));
        let mut frame = Frame::on(&Course { seed: 7, ..Course::on([cpu, cpu]) }, &mut note).unwrap();
        let mut visits = [0, 0];
        let visit = |frame: &mut Frame<'_>, visits: &mut u32, _| {
            *visits += frame.run(cpu, || 1)?;
            Ok::<_, Error>(())
        };
        frame.visit_all("steps", 2, &mut visits, visit).unwrap();
        assert!(frame.run(60_000, || ()).is_err());
        frame.lacks("L9", "there is none");
        let method = frame.finish("Two steps.");
        assert_eq!((visits, method.passes, method.interrupted), ([2, 2], 2, false));
        assert_eq!(told, [("steps", 1, 4), ("steps", 2, 4), ("steps", 3, 4), ("steps", 4, 4)]);
        assert_eq!(method.date, crate::host::collect().date, "of the run, not of the moment");
        assert_eq!((&method.parameters["cpus"], &method.parameters["seed"]), (&json!([cpu]), &json!(7)));
        assert_eq!(
            (method.not_available["L9"].as_str(), method.description.as_str()),
            ("there is none", "Two steps.")
        );
    }

    #[test]
    fn a_run_that_is_cut_short_says_so() {
        let mut ignore = |_| ();
        let mut frame = Frame::bare(&Course::on([0]).within(Duration::ZERO), &mut ignore);
        let mut walk = frame.passes("steps", 2, 2);
        assert_eq!(frame.next(&mut walk), None);
        let method = frame.finish("");
        assert!(method.interrupted && method.passes == 0);
    }
}
