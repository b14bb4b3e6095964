//! Compares placements of a command while it runs, and keeps it where it makes the most progress.
//!
//! The command runs under each placement for a short period, in random order, round by round; a placement that falls
//! behind by more than chance is dropped. The best is kept, and all are compared again later, since programs change.

mod affinity;
mod meter;
mod printed;
mod race;

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use coho_profile::{Examination, Live, Method, PlacementRate};
use coho_topology::CpuSet;
use serde_json::json;

use crate::child::{Ended, Failed, Job, Output, Running, Signals, words};
use crate::trial::{Candidate, same_as};
use affinity::Affinity;
use meter::Meter;
use race::Race;

pub use meter::{Measure, NotCounted};

/// After this time without progress, the command runs on its own CPUs until there is some.
const SILENCE: Duration = Duration::from_secs(60);
/// How often to look for progress.
const OFTEN: Duration = Duration::from_millis(10);
/// The part of a period in which threads move, before progress counts.
const MOVING: f64 = 0.25;
/// By default, examining takes one part in this many of the time.
const SELDOM: u32 = 20;
/// The shortest time between examinations by default.
const REST: Duration = Duration::from_secs(10);
/// How many examinations are kept.
const KEPT: usize = 20;

/// How to compare.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long the command runs under a placement at a time; longer if it reports progress less often.
    pub period: Duration,
    /// How long after settling on a placement to examine again.
    pub again: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
    /// Whether the command's standard output goes to the caller's standard error.
    pub to_stderr: bool,
}

/// Events while the command runs.
#[derive(Debug)]
pub enum News<'a> {
    /// A placement was settled on.
    Settled(&'a Examination),
    /// The command shows no progress: it runs on its own CPUs until it does.
    Silent,
    /// The command continues on its own CPUs and is no longer examined.
    GivenUp(&'a str),
}

/// Why a command could not be run.
#[derive(Debug)]
pub enum Error {
    /// It could not be started.
    Start(Failed),
    /// It could not be counted or waited for.
    Other(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(failed) => failed.fmt(f),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Why an examination ends without a result.
enum Stop {
    Ended(Ended),
    /// It cannot be examined any more.
    Failed(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Runs the first candidate's command once, starting on the caller's CPUs `room`, and moves it among the candidates'
/// CPUs. A candidate that leaves the CPUs as they are is kept unless another is better.
///
/// If examining has to stop, that is reported as [`News::GivenUp`]; the command goes on.
///
/// # Errors
/// [`Error`] if the command cannot be started, counted or waited for.
///
/// # Panics
/// Without a candidate.
pub fn run(
    candidates: &[Candidate],
    room: &CpuSet,
    measure: &Measure,
    options: &Options,
    signals: &Signals,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(Live, Ended), Error> {
    let mut course = Course::start(candidates, room, measure, options, signals)?;
    let mut live = Live {
        command: words(&candidates[0].job.command),
        allowed_cpus: room.iter().collect(),
        progress: measure.name().to_owned(),
        ..Live::default()
    };
    let stop = course.follow(&mut live, tell);
    let Course { mut running, meter, affinity, started, .. } = course;
    drop(affinity);
    let ended = match stop {
        Stop::Ended(ended) => ended,
        Stop::Failed(why) => {
            tell(News::GivenUp(&why));
            live.method.not_available.insert("examinations".into(), why);
            live.best = None;
            let waited = loop {
                match running.wait_until(signals, None) {
                    Ok(None) => {}
                    Ok(Some(ended)) => break Ok(ended),
                    Err(error) => break Err(Error::Other(format!("cannot wait for the command: {error}"))),
                }
            };
            waited?
        }
    };
    meter.end();
    live.method = Method {
        description: "The running command is moved from placement to placement, a period each, in random \
                      order round by round; progress counts after the first quarter of a period. Compared \
                      after 6, 9, 13, 19 and 28 rounds."
            .into(),
        parameters: [
            ("period_s".to_owned(), json!(options.period.as_secs_f64())),
            ("seed".to_owned(), json!(options.seed)),
        ]
        .into(),
        passes: live.examinations.iter().map(|one| one.rounds).sum(),
        duration_s: started.elapsed().as_secs_f64(),
        ..live.method
    };
    Ok((live, ended))
}

/// A command that runs.
struct Course<'a> {
    candidates: &'a [Candidate],
    /// The candidates whose CPUs differ from those of all earlier ones.
    distinct: Vec<usize>,
    cpus: Vec<CpuSet>,
    /// Among the distinct ones, the one that leaves the CPUs as they are.
    as_they_are: Option<usize>,
    room: CpuSet,
    options: &'a Options,
    signals: &'a Signals,
    random: fastrand::Rng,
    running: Running,
    meter: Meter,
    affinity: Affinity,
    started: Instant,
}

impl<'a> Course<'a> {
    fn start(
        candidates: &'a [Candidate],
        room: &CpuSet,
        measure: &Measure,
        options: &'a Options,
        signals: &'a Signals,
    ) -> Result<Self, Error> {
        let meter = match measure {
            Measure::Instructions => Meter::instructions(),
            Measure::Printed(expression) => Meter::printed(expression, options.to_stderr),
        };
        let meter = meter.map_err(Error::Other)?;
        let output = match measure {
            Measure::Printed(_) => Output::BothPiped,
            Measure::Instructions if options.to_stderr => Output::StandardError,
            Measure::Instructions => Output::Inherited,
        };
        let job = Job { cpus: None, output, ..candidates[0].job.clone() };
        let mut running = job.start(signals).map_err(Error::Start)?;
        meter.follow(&mut running);
        let cpus_of = |candidate: &Candidate| candidate.job.cpus.clone().unwrap_or_else(|| room.clone());
        let cpus: Vec<_> = candidates.iter().map(cpus_of).collect();
        let same_as = same_as(candidates);
        let distinct: Vec<_> = (0..candidates.len()).filter(|&one| same_as[one].is_none()).collect();
        Ok(Self {
            candidates,
            as_they_are: distinct.iter().position(|&one| cpus[one] == *room),
            distinct,
            cpus,
            room: room.clone(),
            options,
            signals,
            random: fastrand::Rng::with_seed(options.seed),
            affinity: Affinity::of(running.id(), room.clone()),
            running,
            meter,
            started: Instant::now(),
        })
    }

    /// Examines now and then until the command ends.
    fn follow(&mut self, live: &mut Live, tell: &mut dyn FnMut(News<'_>)) -> Stop {
        let mut follow = || -> Result<(), Stop> {
            self.await_progress(tell)?;
            loop {
                let examination = self.examine(tell)?;
                tell(News::Settled(&examination));
                let took = Duration::from_secs_f64(examination.duration_s);
                live.best = Some(examination.best.clone());
                if live.examinations.len() == KEPT {
                    live.examinations.remove(0);
                }
                live.examinations.push(examination);
                self.wait(self.options.again.unwrap_or_else(|| (took * SELDOM).max(REST)))?;
            }
        };
        match follow() {
            Err(stop) => stop,
            Ok(()) => unreachable!("it goes on until it is stopped"),
        }
    }

    /// Compares the placements and leaves the command under the best.
    fn examine(&mut self, tell: &mut dyn FnMut(News<'_>)) -> Result<Examination, Stop> {
        let at = self.started.elapsed();
        let mut race = Race::of(self.distinct.len(), self.as_they_are);
        let result = loop {
            let mut order = race.running().to_vec();
            self.random.shuffle(&mut order);
            let mut rates = Vec::new();
            for one in order {
                rates.extend(self.period(self.distinct[one])?.map(|rate| (one, rate)));
            }
            if rates.len() < race.running().len() {
                // The command waits for something, so the rest of the round means nothing.
                self.await_progress(tell)?;
            } else if let Some(result) = race.round(&rates) {
                break result;
            }
        };
        let best = self.distinct[result.best];
        self.affinity.set(&self.cpus[best])?;
        let placements = self.candidates.iter().enumerate().map(|(index, candidate)| {
            let twin = self.distinct.iter().position(|&one| self.cpus[one] == self.cpus[index]);
            let twin = twin.expect("each is as a distinct one");
            let same_as = self.distinct[twin];
            PlacementRate {
                name: candidate.name.clone(),
                cpus: candidate.order.clone(),
                same_as: (same_as != index).then(|| self.candidates[same_as].name.clone()),
                rate: result.rates[twin].clone(),
                best_times: result.best_times[twin].clone(),
            }
        });
        Ok(Examination {
            at_s: at.as_secs_f64(),
            duration_s: (self.started.elapsed() - at).as_secs_f64(),
            rounds: race.rounds() as u64,
            placements: placements.collect(),
            best: self.candidates[best].name.clone(),
            decided: result.decided,
        })
    }

    /// The rate of progress under a candidate; `None` if there is none.
    fn period(&mut self, candidate: usize) -> Result<Option<f64>, Stop> {
        self.affinity.set(&self.cpus[candidate])?;
        self.wait(self.options.period.mul_f64(MOVING))?;
        // Catches threads that began while others were moved.
        self.affinity.set(&self.cpus[candidate])?;
        self.meter.begin()?;
        let begun = Instant::now();
        // The length varies, so that it does not fall in step with the program's own periods.
        let length = 0.8 + 0.4 * self.random.f64();
        self.wait(self.options.period.mul_f64(length))?;
        loop {
            match self.meter.rate()? {
                Some(rate) => return Ok((rate > 0.0).then_some(rate)),
                None if begun.elapsed() > SILENCE => return Ok(None),
                None => self.wait(OFTEN)?,
            }
        }
    }

    /// Waits on the command's own CPUs until it makes progress again.
    fn await_progress(&mut self, tell: &mut dyn FnMut(News<'_>)) -> Result<(), Stop> {
        self.affinity.set(&self.room)?;
        self.meter.begin()?;
        let begun = Instant::now();
        let mut has_warned = false;
        loop {
            self.wait(self.options.period)?;
            if self.meter.rate()?.is_some_and(|rate| rate > 0.0) {
                return Ok(());
            }
            if !has_warned && begun.elapsed() > SILENCE / 2 {
                has_warned = true;
                tell(News::Silent);
            }
        }
    }

    /// Lets time pass, and passes signals on.
    fn wait(&mut self, time: Duration) -> Result<(), Stop> {
        match self.running.wait_until(self.signals, Some(Instant::now() + time))? {
            None => Ok(()),
            Some(ended) => Err(Stop::Ended(ended)),
        }
    }
}
