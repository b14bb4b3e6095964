//! All pairs, and the nearest of them over a while: the survey's experiment.

use std::time::Duration;

use coho_platform::stop;
use coho_profile::{Coherence, Method, PairMethod};

use super::Options;
use super::watch::watch;
use crate::experiment::{Surveyed, Times};
use crate::{Around, Course, Error, Experiment};

/// Measures all pairs, and then watches how the nearest one's time changes. One CPU has nobody to share with; what it
/// can show is measured all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct ThenWatched {
    /// What is measured first.
    pub pairs: Options,
    /// How long the nearest pair is watched.
    pub watch: Duration,
}

impl Surveyed for ThenWatched {
    const TIMES: Times = Times::UNLIMITED;
    const NEEDS_TWO: &'static [&'static str] = &["times between CPUs"];

    fn in_survey(quick: bool, course: Course) -> Self {
        let (pairs, watch) = if quick { (Options::quick(), 1) } else { (Options::default(), 5) };
        Self { pairs: Options { course, ..pairs }, watch: Duration::from_secs(watch) }
    }

    fn in_check(_: &[String], course: Course) -> Self {
        let quick = Self::in_survey(true, course);
        Self { pairs: Options { reads: false, ..quick.pairs }, watch: Duration::ZERO }
    }

    fn method(section: &mut Coherence) -> &mut Method {
        &mut section.method
    }
}

impl Experiment for ThenWatched {
    type Section = Coherence;

    fn has_figures(section: &Coherence) -> bool {
        Options::has_figures(section)
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Coherence, Error> {
        match self.pairs.course.all()?.len() {
            1 => self.pairs.measure_alone(around),
            _ => self.pairs.measure(around),
        }
    }

    fn follows_up(&self) -> bool {
        !self.watch.is_zero()
    }

    fn follow_up(&self, section: &mut Coherence, left: Option<Duration>, around: &mut Around<'_>) {
        let time = left.map_or(self.watch, |left| left.min(self.watch));
        let turns = section.pairs.iter().filter(|pair| pair.method == PairMethod::Turn);
        let nearest = turns.min_by(|one, other| one.ns.median.total_cmp(&other.ns.median));
        let Some((a, b)) = nearest.map(|pair| (pair.a, pair.b)) else { return };
        if section.method.interrupted || time.is_zero() {
            return;
        }
        if !stop::requested() {
            match watch((a, b), PairMethod::Turn, time, around.progress) {
                Ok(timeline) => section.timeline = Some(timeline),
                Err(error) => drop(section.method.not_available.insert("timeline".into(), error.to_string())),
            }
        }
        section.method.interrupted = stop::requested();
    }

    /// Times between CPUs are worth more than one CPU's.
    fn merge(&self, measured: &mut Coherence, earlier: &Coherence) -> bool {
        !measured.pairs.is_empty() || earlier.times().next().is_none()
    }
}
