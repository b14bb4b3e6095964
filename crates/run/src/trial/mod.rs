//! Runs a command under several placements in turn and reports which is best.

mod counted;
mod decide;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

pub use coho_model::trial::choice;
use coho_probe::{Progress, meanwhile, statistics};
use coho_profile::{Estimate, Method, PlacementTime, Trial};
use coho_topology::CpuSet;
use serde_json::json;

use crate::child::{Failed, Job, Signals, Status, orphans, words};
use counted::Counted;
pub use decide::{Verdict, decide};

/// How long processes that a command left running may take to end before the next run.
pub(crate) const ENDING: Duration = Duration::from_secs(5);

/// A placement to try.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its CPUs, in the order in which threads take them.
    pub order: Vec<u32>,
    /// The command under it.
    pub job: Job,
}

impl Candidate {
    /// Whether the command runs under both in the same way.
    fn is_as(&self, other: &Self) -> bool {
        let cpus = |candidate: &Self| CpuSet::from_iter(candidate.order.iter().copied());
        cpus(self) == cpus(other) && self.job.environment == other.job.environment
    }
}

/// For each candidate, the earlier one that it equals, if any.
pub(crate) fn same_as(candidates: &[Candidate]) -> Vec<Option<usize>> {
    let earlier = |index: usize| (0..index).find(|&one| candidates[index].is_as(&candidates[one]));
    (0..candidates.len()).map(earlier).collect()
}

/// How to compare.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Runs under each placement; six are the fewest that allow a verdict.
    pub repeats: u32,
    /// No further round begins after this time.
    pub time_limit: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
}

/// Why placements could not be compared.
#[derive(Debug)]
pub enum Error {
    /// The command could not be started.
    Start(Failed),
    /// The command failed, so its time means nothing.
    Unsuccessful {
        /// The placement that it ran under.
        placement: String,
        /// How it ended.
        status: Status,
    },
    /// Anything else.
    Other(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(failed) => failed.fmt(f),
            Self::Unsuccessful { placement, status: Status::Exited(status) } => {
                write!(
                    f,
                    "under {placement} the command ended with status {status}; it must end with 0 to be compared"
                )
            }
            Self::Unsuccessful { placement, status: Status::Signalled(signal) } => {
                write!(f, "under {placement} signal {signal} ended the command")?;
                if *signal == libc::SIGSYS {
                    f.write_str(
                        ": it forbids itself system calls (seccomp), and coho's libraries may have made one",
                    )?;
                }
                Ok(())
            }
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// One run's figures.
struct Sample {
    seconds: f64,
    counters: BTreeMap<&'static str, f64>,
}

/// Runs the command under each candidate in every round, in random order, after one warm-up run that does not count. A
/// signal or the time limit ends the trial early; whole rounds are kept.
///
/// The command runs many times, so it must be repeatable and succeed each time.
///
/// # Errors
/// [`Error`] if the command cannot be started or does not end well.
pub fn compare(
    candidates: &[Candidate],
    options: &Options,
    signals: &Signals,
    progress: &mut dyn FnMut(Progress),
) -> Result<Trial, Error> {
    let started = Instant::now();
    let mut random = fastrand::Rng::with_seed(options.seed);
    let same_as = same_as(candidates);
    let distinct: Vec<usize> = (0..candidates.len()).filter(|&index| same_as[index].is_none()).collect();
    let counted = Counted::choose(candidates.iter().flat_map(|candidate| candidate.order.first()).next());
    let mut missing = counted.not_available().clone();
    let began = run(&candidates[distinct[0]], &counted, signals, &mut missing)?.is_some();
    let visit = |at: usize| run(&candidates[distinct[at]], &counted, signals, &mut missing);
    let (done, interrupted) = match began {
        true => rounds(distinct.len(), options, &mut random, progress, visit)?,
        false => (distinct.iter().map(|_| Vec::new()).collect(), true),
    };
    let mut samples: Vec<Vec<Sample>> = candidates.iter().map(|_| Vec::new()).collect();
    distinct.iter().zip(done).for_each(|(&index, done)| samples[index] = done);
    let seconds = |index: usize| samples[index].iter().map(|sample| sample.seconds).collect::<Vec<_>>();
    let verdict = decide(&distinct.iter().map(|&index| seconds(index)).collect::<Vec<_>>());
    let placements = candidates.iter().enumerate().map(|(index, candidate)| {
        let twin = same_as[index].unwrap_or(index);
        let position = distinct.iter().position(|&other| other == twin).expect("a distinct one");
        PlacementTime {
            name: candidate.name.clone(),
            cpus: candidate.order.clone(),
            same_as: same_as[index].map(|other| candidates[other].name.clone()),
            seconds: statistics::estimate(&[seconds(twin)]),
            times_best: verdict.as_ref().and_then(|verdict| verdict.times_best[position].clone()),
            counters: counters(&samples[twin]),
        }
    });
    let placements: Vec<_> = placements.collect();
    if missing.contains_key("clock_ghz")
        && placements.iter().any(|one| one.counters.contains_key("clock_ghz"))
    {
        missing.remove("clock_ghz");
    }
    Ok(Trial {
        method: Method {
            description: "The command runs under each placement in every round, in random order, after one run that \
                          does not count. Counters are of the command and its descendants; the clock is looked at on \
                          the placement's first CPU every tenth of a second of a run."
                .into(),
            parameters: [("repeats".to_owned(), json!(options.repeats)), ("seed".to_owned(), json!(options.seed))]
                .into(),
            passes: samples[distinct[0]].len() as u64,
            duration_s: started.elapsed().as_secs_f64(),
            interrupted,
            not_available: missing,
            ..Method::default()
        },
        command: words(&candidates[0].job.command),
        best: verdict.as_ref().map(|verdict| candidates[distinct[verdict.best]].name.clone()),
        winners: verdict.iter().flat_map(|verdict| &verdict.winners).map(|&at| candidates[distinct[at]].name.clone()).collect(),
        decided: verdict.is_some_and(|verdict| verdict.decided),
        placements,
        ..Trial::default()
    })
}

/// Visits each of so many things once in every round, in random order; a visit that returns `None` ends the rounds, and
/// so does the time limit. Returns what visits to each thing returned in the whole rounds, and whether rounds are missing.
pub(crate) fn rounds<T, E>(
    things: usize,
    options: &Options,
    random: &mut fastrand::Rng,
    progress: &mut dyn FnMut(Progress),
    visit: impl FnMut(usize) -> Result<Option<T>, E>,
) -> Result<(Vec<Vec<T>>, bool), E> {
    rounds_while(things, options, random, progress, visit, |_| false)
}

/// The same; after as many rounds as are asked for, as many again follow while what is done so far takes more. Of these,
/// none counts as missing.
pub(crate) fn rounds_while<T, E>(
    things: usize,
    options: &Options,
    random: &mut fastrand::Rng,
    progress: &mut dyn FnMut(Progress),
    mut visit: impl FnMut(usize) -> Result<Option<T>, E>,
    takes_more: impl Fn(&[Vec<T>]) -> bool,
) -> Result<(Vec<Vec<T>>, bool), E> {
    let started = Instant::now();
    let mut all: Vec<Vec<T>> = (0..things).map(|_| Vec::new()).collect();
    let wanted = things as u64 * u64::from(options.repeats);
    let (mut done, mut total) = (0, wanted);
    loop {
        if done == total {
            if !takes_more(&all) {
                return Ok((all, false));
            }
            total += wanted;
        }
        if options.time_limit.is_some_and(|limit| started.elapsed() >= limit) {
            return Ok((all, done < wanted));
        }
        let mut order: Vec<usize> = (0..things).collect();
        random.shuffle(&mut order);
        let mut round = Vec::new();
        for index in order {
            let left = match done {
                0 => None,
                _ => Some(started.elapsed().div_f64(done as f64).mul_f64((total - done) as f64)),
            };
            progress(Progress { phase: "runs of the command", done, total, left });
            done += 1;
            match visit(index)? {
                Some(one) => round.push((index, one)),
                None => return Ok((all, done <= wanted)),
            }
        }
        round.into_iter().for_each(|(index, one)| all[index].push(one));
    }
}

/// One run; `None` if a signal asked for the end.
fn run(
    candidate: &Candidate,
    counted: &Counted,
    signals: &Signals,
    missing: &mut BTreeMap<String, String>,
) -> Result<Option<Sample>, Error> {
    let counters = counted.open(missing);
    let running = candidate.job.start(signals).map_err(Error::Start)?;
    let first: CpuSet = candidate.order.iter().copied().take(1).collect();
    let (ended, seen) = meanwhile::during(&first, &|| (), || running.wait(signals));
    let ended = ended.map_err(|error| Error::Other(format!("cannot wait for the command: {error}")))?;
    if ended.asked_to_end {
        return Ok(None);
    }
    if !ended.status.is_success() {
        return Err(Error::Unsuccessful { placement: candidate.name.clone(), status: ended.status });
    }
    let usage = ended.usage + orphans::wait(ENDING).map_err(|left| Error::Other(left.to_string()))?;
    let mut counters = counters.read(missing);
    counters.insert("cpu_seconds", usage.cpu.as_secs_f64());
    counters.insert("voluntary_switches", usage.voluntary_switches as f64);
    counters.insert("involuntary_switches", usage.involuntary_switches as f64);
    let mut ghz: Vec<f64> = seen.ghz(&first).collect();
    ghz.sort_by(f64::total_cmp);
    match seen.no_clock {
        None => drop(counters.insert("clock_ghz", statistics::median(&ghz))),
        Some(why) => drop(missing.insert("clock_ghz".into(), why)),
    }
    Ok(Some(Sample { seconds: ended.wall.as_secs_f64(), counters }))
}

/// Estimates of the events that every run has counted.
fn counters(samples: &[Sample]) -> BTreeMap<String, Estimate> {
    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in samples.iter().flat_map(|sample| &sample.counters) {
        by_name.entry(name).or_default().push(*value);
    }
    let estimates = by_name
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), statistics::estimate(&[values])?)));
    estimates.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rounds are done, and whether some are missing, where two are asked for, and two more while there are
    /// fewer than five, and a visit ends them.
    fn done(ending: usize) -> (usize, bool) {
        let options = Options { repeats: 2, ..Options::default() };
        let mut visits = 0;
        let visit = |thing| {
            visits += 1;
            Ok::<_, ()>((visits != ending).then_some(thing))
        };
        let takes_more = |done: &[Vec<usize>]| done[0].len() < 5;
        let mut random = fastrand::Rng::with_seed(1);
        let (done, missing) = rounds_while(3, &options, &mut random, &mut |_| (), visit, takes_more).unwrap();
        for (thing, visits) in done.iter().enumerate() {
            assert_eq!(visits.len(), done[0].len());
            assert!(visits.iter().all(|&one| one == thing), "{done:?}");
        }
        (done[0].len(), missing)
    }

    #[test]
    fn more_rounds_follow_while_they_are_wanted_and_are_not_missed() {
        assert_eq!(done(usize::MAX), (6, false));
        assert_eq!(done(5), (1, true));
        assert_eq!(done(10), (3, false));
    }
}
