//! Barriers, and programs that depend on them: the survey's experiment for the section `sync`.

use std::time::{Duration, Instant};

use coho_platform::stop;
use coho_profile::{Method, Sync};

use super::Options;
use crate::experiment::{Surveyed, Times};
use crate::kernels::{self, Which};
use crate::{Around, Course, Error, Experiment};

/// The most time for barriers, and for each program under them.
const BARRIERS: Duration = Duration::from_secs(20);
const PROGRAM: Duration = Duration::from_secs(15);

/// Measures barriers, fork and join, and then runs programs with them.
#[derive(Debug, Clone, PartialEq)]
pub struct WithPrograms {
    /// The programs, which also run on one CPU.
    pub programs: Vec<Which>,
    /// Where, and for how long.
    pub course: Course,
}

impl Surveyed for WithPrograms {
    const TIMES: Times = Times::seconds(3, 65);
    const NEEDS_TWO: &'static [&'static str] = &["barriers, fork and join"];

    fn in_survey(quick: bool, course: Course) -> Self {
        let programs = if quick { Vec::new() } else { Which::ALL.to_vec() };
        Self { programs, course }
    }

    fn method(section: &mut Sync) -> &mut Method {
        &mut section.method
    }
}

impl Experiment for WithPrograms {
    type Section = Sync;

    fn has_figures(section: &Sync) -> bool {
        Options::has_figures(section) || kernels::Options::has_figures(section)
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Sync, Error> {
        let started = Instant::now();
        let mut section = self.barriers(around);
        for &which in &self.programs {
            let left = self.course.time_limit.map(|limit| limit.saturating_sub(started.elapsed()));
            if stop::requested() || left == Some(Duration::ZERO) {
                break;
            }
            let course = self.course.clone().within(left).at_most(PROGRAM);
            let options = kernels::Options { quick: true, course, ..kernels::Options::of(which) };
            match options.run(around) {
                Ok(kernel) => drop(section.kernels.insert(which.name().into(), kernel)),
                Err(error) => {
                    drop(section.method.not_available.insert(which.name().into(), error.to_string()));
                }
            }
        }
        Ok(section)
    }

    /// Barriers of an earlier survey, with more CPUs, stay if there are none now; so do programs that did not run.
    fn merge(&self, measured: &mut Sync, earlier: &Sync) -> bool {
        if !Self::has_figures(measured) {
            return false;
        }
        if !Options::has_figures(measured) && Options::has_figures(earlier) {
            let new = std::mem::replace(measured, earlier.clone());
            let programs = |what: &String| Which::ALL.iter().any(|which| which.name() == what);
            let whys = new.method.not_available.into_iter().filter(|(what, _)| programs(what));
            measured.method.not_available.extend(whys);
            measured.kernels = new.kernels;
        }
        for (name, kernel) in &earlier.kernels {
            let own = measured.kernels.entry(name.clone()).or_default();
            if own.points.is_empty() {
                own.clone_from(kernel);
            }
        }
        true
    }
}

impl WithPrograms {
    /// Barriers, fork and join, or why there are none.
    fn barriers(&self, around: &mut Around<'_>) -> Sync {
        let options = Options { quick: true, course: self.course.at_most(BARRIERS), ..Options::default() };
        let measured = options.measure(around);
        let why = match &measured {
            Ok(section) if Options::has_figures(section) => None,
            Ok(section) if section.method.interrupted => Some("the time was too short".to_owned()),
            Ok(_) => Some("they need two CPUs".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let mut section = measured.unwrap_or_default();
        section.method.not_available.extend(why.map(|why| ("barriers".to_owned(), why)));
        section
    }
}
