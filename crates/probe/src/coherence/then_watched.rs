//! All pairs, and the nearest of them over a while: the survey's experiment.

use std::time::Duration;

use coho_platform::{pin, stop};
use coho_profile::{Coherence, Method, PairMethod, Profile};

use super::{Options, measure, measure_alone, watch};
use crate::experiment::Times;
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

impl Experiment for ThenWatched {
    type Section = Coherence;
    const SECTION: &'static str = "coherence";
    const TIMES: Times = Times::UNLIMITED;
    const NEEDS_TWO: &'static [&'static str] = &["times between CPUs"];

    fn in_survey(quick: bool) -> Self {
        match quick {
            true => Self { pairs: Options::quick(), watch: Duration::from_secs(1) },
            false => Self { pairs: Options::default(), watch: Duration::from_secs(5) },
        }
    }

    fn with_course(self, course: &Course) -> Self {
        let Course { cpus, time_limit, seed } = course.clone();
        // Where the system does not say which CPUs there are, the measurement says so.
        let pairs = self.pairs.clone().on(cpus.clone()).unwrap_or(Options { cpus, ..self.pairs });
        Self { pairs: Options { time_limit, seed, ..pairs }, ..self }
    }

    fn slot(profile: &mut Profile) -> &mut Option<Coherence> {
        &mut profile.coherence
    }

    fn method(section: &mut Coherence) -> &mut Method {
        &mut section.method
    }

    fn has_figures(section: &Coherence) -> bool {
        section.times().next().is_some() || !section.singles.is_empty() || section.timeline.is_some()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Coherence, Error> {
        let cpus = match self.pairs.cpus.len() {
            0 => pin::allowed()?.len(),
            n => n,
        };
        let measure = if cpus == 1 { measure_alone } else { measure };
        measure(&self.pairs, around.topology, around.progress)
    }

    fn follows_up(&self) -> bool {
        true
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
