//! A walk over experiments: each in its turn, its section in the profile as soon as it is measured.
//!
//! A section replaces an earlier one only once it is complete and has a figure: a stop, an error, too short a time or a
//! machine that lacks what an experiment needs never costs what an earlier run has measured.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use coho_platform::stop;
use coho_profile::{CpuidAnswer, Host, Profile, Stored, TopologySection};
use coho_topology::{Topology, cpuid};

use super::{Around, Course, Entry, Experiment, Surveyed};
use crate::calls::mpi::RankCommand;
use crate::{Error, Progress};

/// A survey: all experiments of a table within one course.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Fewer passes and sizes, and less time for each experiment.
    pub quick: bool,
    /// The keys of the only figures that are wanted, if not all are: a check of the machine rather than a survey.
    pub only: Option<Vec<String>>,
    /// The CPUs, the seed, and the time for all experiments together.
    pub course: Course,
}

/// What a walk knows of the machine, and where its sections are kept.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The machine and its software.
    pub host: &'a Host,
    /// What the machine says it is.
    pub topology: &'a Topology,
    /// As [`Around::mpi_rank`].
    pub mpi_rank: Option<&'a RankCommand>,
    /// The profile that the sections are put into, if any.
    pub path: Option<&'a Path>,
}

impl Plan<'_> {
    fn record_machine(&self, profile: &mut Profile) {
        profile.host = Some(self.host.clone());
        profile.topology =
            Some(TopologySection { cpuid: cpuid(self.topology), ..self.topology.clone().into() });
    }
}

/// What the topology's CPUs answer to CPUID; empty unless all of them do.
fn cpuid(topology: &Topology) -> Vec<CpuidAnswer> {
    let answered = cpuid::allowed_cpus().and_then(|cpus| cpuid::live(&cpus));
    let all = answered.ok().filter(|dump| dump.cpu_set().is_ok_and(|cpus| cpus == topology.cpus()));
    all.map(|dump| CpuidAnswer::of(&dump)).unwrap_or_default()
}

/// Is told how a walk goes.
pub trait Observer {
    /// An experiment begins.
    fn begins(&mut self, section: &'static str) {
        let _ = section;
    }

    /// An experiment advances.
    fn advances(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// An experiment has ended. Its section is all that the profile holds; what is added to it here is kept.
    fn measured(&mut self, profile: &mut Profile) {
        let _ = profile;
    }

    /// The first experiment of a survey is in its profile, and the machine.
    fn has_first(&mut self, profile: &Profile) {
        let _ = profile;
    }
}

/// What became of the sections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The profile as it is now.
    pub profile: Profile,
    /// Sections that were kept though a signal ended them early.
    pub incomplete: Vec<&'static str>,
    /// Sections of an earlier run that are still there, as this one did not measure them to the end.
    pub old: Vec<&'static str>,
    /// Sections that were not measured, and that no earlier run has measured.
    pub missing: Vec<&'static str>,
    /// Whether anything was measured.
    pub has_figures: bool,
}

/// Why a walk ended early.
#[derive(Debug)]
pub enum WalkError {
    /// An experiment whose failure is the walk's.
    Experiment(Error),
    /// The profile cannot be read or written.
    Profile(coho_profile::Error),
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Experiment(error) => error.fmt(f),
            Self::Profile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WalkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Experiment(error) => error.source(),
            Self::Profile(error) => error.source(),
        }
    }
}

impl From<coho_profile::Error> for WalkError {
    fn from(error: coho_profile::Error) -> Self {
        Self::Profile(error)
    }
}

/// Walks over a table. Each experiment has its own time, or what is left of the survey's if that is less. One that
/// fails leaves a section with the reason. The first one runs however short the time is. If CPUs were asked for by
/// number, its failure ends the survey, which then writes nothing, as the CPUs may not exist. The machine is recorded
/// even if every section stays as it was.
///
/// # Errors
/// If the profile cannot be written, or the first experiment fails on CPUs that were asked for.
pub fn survey(
    table: &[Entry],
    survey: &Survey,
    plan: Plan<'_>,
    observer: &mut dyn Observer,
) -> Result<Outcome, WalkError> {
    let mut walk = Walk::begin(plan, observer);
    if let Some(path) = plan.path {
        walk.outcome.profile = Profile::check_update(path)?;
    }
    for (index, entry) in table.iter().enumerate() {
        let is_first = index == 0;
        let is_over = !is_first && walk.left(&survey.course) == Some(Duration::ZERO);
        if !is_over && !stop::requested() {
            (entry.visit)(&mut walk, survey, is_first)?;
        } else if (entry.is_in)(&mut walk.outcome.profile) {
            walk.outcome.old.push(entry.section);
        } else {
            walk.outcome.missing.push(entry.section);
        }
        if is_first {
            walk.update(|profile| plan.record_machine(profile))?;
            walk.observer.has_first(&walk.outcome.profile);
        }
    }
    Ok(walk.outcome)
}

/// Walks over one experiment, whose failure is the walk's. Also returns its section as it was measured, without the
/// rows that an earlier one lends it.
///
/// # Errors
/// If the experiment fails, or the profile cannot be written.
pub fn single<E: Experiment>(
    experiment: &E,
    plan: Plan<'_>,
    observer: &mut dyn Observer,
) -> Result<(E::Section, Outcome), WalkError> {
    let mut walk = Walk::begin(plan, observer);
    let measured = walk.measure(experiment).map_err(WalkError::Experiment)?;
    let measured = walk.finish(experiment, measured, None)?;
    Ok((measured, walk.outcome))
}

/// A walk under way.
pub(super) struct Walk<'a> {
    plan: Plan<'a>,
    observer: &'a mut dyn Observer,
    started: Instant,
    outcome: Outcome,
}

impl<'a> Walk<'a> {
    fn begin(plan: Plan<'a>, observer: &'a mut dyn Observer) -> Self {
        Self { plan, observer, started: Instant::now(), outcome: Outcome::default() }
    }

    /// What is left of a course's time; `None` if it has no limit.
    fn left(&self, course: &Course) -> Option<Duration> {
        course.time_limit.map(|limit| limit.saturating_sub(self.started.elapsed()))
    }

    /// An experiment of a survey.
    pub(super) fn visit_as_part_of<E: Surveyed>(
        &mut self,
        survey: &Survey,
        is_first: bool,
    ) -> Result<(), WalkError> {
        let (left, wanted) =
            (self.left(&survey.course), if survey.quick { E::TIMES.quick } else { E::TIMES.full });
        let time_limit = left.into_iter().chain(wanted).min();
        let course = Course { time_limit, ..survey.course.clone() };
        let experiment = match &survey.only {
            Some(keys) => E::in_check(keys, course),
            None => E::in_survey(survey.quick, course),
        };
        match self.measure(&experiment) {
            Ok(measured) => self.finish(&experiment, measured, Some(survey)).map(drop),
            Err(error) if is_first && !survey.course.cpus.is_empty() => Err(WalkError::Experiment(error)),
            Err(error) => {
                let mut section = E::Section::default();
                E::method(&mut section).not_available.insert(E::SECTION.into(), error.to_string());
                self.put(&experiment, section, false)
            }
        }
    }

    fn measure<E: Experiment>(&mut self, experiment: &E) -> Result<E::Section, Error> {
        self.observer.begins(E::SECTION);
        self.with_progress(|around| experiment.measure(around))
    }

    fn with_progress<T>(&mut self, work: impl FnOnce(&mut Around<'_>) -> T) -> T {
        let Plan { topology, mpi_rank, .. } = self.plan;
        let mut progress = |progress| self.observer.advances(progress);
        work(&mut Around { topology, mpi_rank, progress: &mut progress })
    }

    /// Keeps a section that was measured, and what follows it up.
    fn finish<E: Experiment>(
        &mut self,
        experiment: &E,
        measured: E::Section,
        survey: Option<&Survey>,
    ) -> Result<E::Section, WalkError> {
        let mut section = measured;
        let is_kept_first = experiment.follows_up() && E::Section::place(&mut self.outcome.profile).is_none();
        if is_kept_first {
            self.put(experiment, section.clone(), true)?;
        }
        if experiment.follows_up() {
            let left = survey.and_then(|survey| self.left(&survey.course));
            self.with_progress(|around| experiment.follow_up(&mut section, left, around));
        }
        let mut carrier = Profile::default();
        *E::Section::place(&mut carrier) = Some(section);
        self.observer.measured(&mut carrier);
        let section = E::Section::place(&mut carrier).take().unwrap_or_default();
        self.outcome.has_figures |= E::has_figures(&section);
        if is_kept_first {
            self.add::<E>(section.clone())?;
        } else {
            self.put(experiment, section.clone(), true)?;
        }
        Ok(section)
    }

    /// Puts a section into the profile, unless an earlier one stays.
    fn put<E: Experiment>(
        &mut self,
        experiment: &E,
        mut section: E::Section,
        was_measured: bool,
    ) -> Result<(), WalkError> {
        let is_stopped = stop::requested();
        let is_complete = was_measured && !is_stopped;
        let has_figures = E::has_figures(&section);
        let (plan, mut is_old) = (self.plan, false);
        self.update(|profile| {
            let slot = E::Section::place(profile);
            is_old = slot.as_ref().is_some_and(|earlier| {
                let would_erase = !has_figures && E::has_figures(earlier);
                would_erase
                    || (!is_complete && experiment.holds(earlier))
                    || !experiment.merge(&mut section, earlier)
            });
            if !is_old {
                *slot = Some(section);
                plan.record_machine(profile);
            }
        })?;
        match (is_old, is_stopped) {
            (true, _) => self.outcome.old.push(E::SECTION),
            (false, true) => self.outcome.incomplete.push(E::SECTION),
            (false, false) => {}
        }
        Ok(())
    }

    /// Puts in what was added to a section that this walk has measured; a signal leaves it incomplete.
    fn add<E: Experiment>(&mut self, section: E::Section) -> Result<(), WalkError> {
        self.update(|profile| *E::Section::place(profile) = Some(section))?;
        if stop::requested() && !self.outcome.incomplete.contains(&E::SECTION) {
            self.outcome.incomplete.push(E::SECTION);
        }
        Ok(())
    }

    fn update(&mut self, change: impl FnOnce(&mut Profile)) -> Result<(), WalkError> {
        match self.plan.path {
            Some(path) => self.outcome.profile = Profile::update(path, change)?,
            None => change(&mut self.outcome.profile),
        }
        Ok(())
    }
}
