//! One pair over a while: when it jumps, and between which values.

use std::time::{Duration, Instant};

use coho_platform::stop;
use coho_profile::{Coherence, Method, PairMethod, Timeline, TimelineSample};

use super::arena::Arena;
use super::run::{Effort, level};
use super::visit::{Kind, Outcome, Task, Visit, settle};
use crate::frame::{Phase, Progress};
use crate::host::run_date;
use crate::workers::Workers;
use crate::{Around, Error, Experiment, statistics};

/// Time between the starts of two samples.
const INTERVAL: Duration = Duration::from_millis(50);

/// A pair is measured about twenty times a second for as long as said, or until a stop. Between samples the CPUs are
/// free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// The two CPUs, by operating-system number.
    pub pair: (u32, u32),
    /// What they do with the line.
    pub method: PairMethod,
    /// For how long.
    pub time: Duration,
}

/// Its timeline alone replaces an earlier one: it says nothing about other pairs.
impl Experiment for Watch {
    type Section = Coherence;

    fn has_figures(section: &Coherence) -> bool {
        section.timeline.is_some()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Coherence, Error> {
        let Self { pair: (a, b), method, time } = *self;
        let started = Instant::now();
        let timeline = watch((a, b), method, time, around.progress)?;
        let method = Method {
            description: "One pair, about twenty times a second.".into(),
            date: Some(run_date()),
            duration_s: started.elapsed().as_secs_f64(),
            interrupted: stop::requested(),
            ..Method::default()
        };
        Ok(Coherence { cpus: vec![a, b], timeline: Some(timeline), method, ..Coherence::default() })
    }

    fn merge(&self, measured: &mut Coherence, earlier: &Coherence) -> bool {
        let timeline = measured.timeline.take();
        *measured = Coherence { timeline, ..earlier.clone() };
        true
    }
}

/// A pair's timeline. If one of the CPUs is lost, it ends there.
///
/// # Errors
/// If the two are the same CPU, one of them cannot be used or is lost before the first sample, or they never ran at
/// the same time.
pub(super) fn watch(
    (a, b): (u32, u32),
    method: PairMethod,
    duration: Duration,
    progress: &mut dyn FnMut(Progress),
) -> Result<Timeline, Error> {
    if a == b {
        return Err(Error::argument(format!("a pair needs two different CPUs, not {a} twice")));
    }
    let workers = Workers::start(&[a, b])?;
    let arena = Arena::map()?;
    let effort = Effort::new(8, 16, 0.05);
    let (start, mut phase) = (Instant::now(), Phase::of_time("watch", duration));
    let mut samples = Vec::new();
    let mut rounds = 0;
    // However short the time, a sample is taken: that the CPUs never met is said only of CPUs that were tried.
    loop {
        let at = start.elapsed();
        let task = Task { kind: Kind::Time(method), lines: arena.lines(), rounds };
        let outcome = match sample(&workers, (a, b), &task, &effort) {
            Ok(outcome) => outcome,
            Err(error) if samples.is_empty() => return Err(error),
            Err(_) => break,
        };
        if let Some(ns) = statistics::estimate(&[level(&outcome.samples)]) {
            rounds = outcome.rounds;
            samples.push(TimelineSample { at_s: at.as_secs_f64(), ns: ns.median });
        }
        progress(phase.advance(1));
        let left = duration.saturating_sub(start.elapsed());
        std::thread::sleep((at + INTERVAL).saturating_sub(start.elapsed()).min(left));
        if start.elapsed() >= duration || stop::requested() {
            break;
        }
    }
    timeline((a, b), method, samples)
}

pub(crate) fn sample(
    workers: &Workers,
    (a, b): (u32, u32),
    task: &Task<'_>,
    effort: &Effort,
) -> Result<Outcome, Error> {
    let visit = Visit::new(vec![*task], *effort);
    let parts = workers.run([a, b].into_iter().zip(visit.jobs()).collect());
    let parts: Vec<_> =
        parts.into_iter().map(|part| part.map(|done| Some(done.value))).collect::<Result<_, _>>()?;
    Ok(settle(&parts).pop().unwrap_or_default())
}

fn timeline((a, b): (u32, u32), method: PairMethod, samples: Vec<TimelineSample>) -> Result<Timeline, Error> {
    let series: Vec<f64> = samples.iter().map(|sample| sample.ns).collect();
    let Some(estimate) = statistics::estimate(std::slice::from_ref(&series)) else {
        return Err(Error::NeverMet { a, b });
    };
    let change_points_s =
        statistics::change_points(&series).into_iter().map(|index| samples[index].at_s).collect();
    Ok(Timeline { a, b, method, samples, change_points_s, modes: estimate.modes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coho_platform::pin;

    #[test]
    fn a_jump_stands_in_the_timeline() {
        let sample = |i: u32| TimelineSample {
            at_s: f64::from(i) * 0.05,
            ns: if i < 60 { 25.0 } else { 100.0 } + f64::from(i % 7) * 0.1,
        };
        let timeline = timeline((0, 1), PairMethod::Turn, (0..100).map(sample).collect()).unwrap();
        assert_eq!(timeline.change_points_s, [3.0]);
        assert_eq!(timeline.modes.len(), 2);
        assert!((timeline.modes[0].value - 25.3).abs() < 0.1);
        assert_eq!(timeline.kept_to_one_value(), Some(false));
    }

    #[test]
    fn a_few_samples_do_not_tell_that_a_pair_keeps_to_its_value() {
        let watched = |n: u32| {
            let sample =
                |i: u32| TimelineSample { at_s: f64::from(i) * 0.05, ns: 25.0 + f64::from(i % 3) * 0.1 };
            timeline((0, 1), PairMethod::Turn, (0..n).map(sample).collect()).unwrap().kept_to_one_value()
        };
        assert_eq!((watched(1), watched(15), watched(16)), (None, None, Some(true)));
    }

    #[test]
    fn watches_for_as_long_as_said() {
        let cpus: Vec<_> = pin::allowed().unwrap().iter().take(2).collect();
        assert!(watch((cpus[0], cpus[0]), PairMethod::Turn, Duration::ZERO, &mut |_| ()).is_err());
        let Some(&b) = cpus.get(1) else { return };
        for length in [Duration::from_nanos(1), Duration::from_millis(400)] {
            let mut tried = 0;
            match watch((cpus[0], b), PairMethod::Turn, length, &mut |_| tried += 1) {
                Ok(watched) => {
                    assert!(!watched.samples.is_empty());
                    assert!(watched.samples.is_sorted_by(|one, next| one.at_s < next.at_s));
                }
                // This may happen if others use the CPUs too.
                Err(error) => assert!(tried > 0 && error.to_string().contains("never ran"), "{error}"),
            }
        }
    }
}
