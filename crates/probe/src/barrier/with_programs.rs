//! Barriers, and programs that depend on them: the survey's experiment for the section `sync`.

use std::time::{Duration, Instant};

use coho_platform::stop;
use coho_profile::{Method, Profile, Sync};

use super::{Options, measure};
use crate::experiment::Times;
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

impl Experiment for WithPrograms {
    type Section = Sync;
    const SECTION: &'static str = "sync";
    const TIMES: Times = Times::seconds(3, 65);
    const NEEDS_TWO: &'static [&'static str] = &["barriers, fork and join"];

    fn in_survey(quick: bool) -> Self {
        let programs = if quick { Vec::new() } else { Which::ALL.to_vec() };
        Self { programs, course: Course::default() }
    }

    fn with_course(self, course: &Course) -> Self {
        Self { course: course.clone(), ..self }
    }

    fn slot(profile: &mut Profile) -> &mut Option<Sync> {
        &mut profile.sync
    }

    fn method(section: &mut Sync) -> &mut Method {
        &mut section.method
    }

    fn has_figures(section: &Sync) -> bool {
        has_barriers(section) || !section.kernels.is_empty()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Sync, Error> {
        let started = Instant::now();
        let mut section = self.barriers(around);
        for &which in &self.programs {
            let left = self.course.time_limit.map(|limit| limit.saturating_sub(started.elapsed()));
            if stop::requested() || left == Some(Duration::ZERO) {
                break;
            }
            let options = kernels::Options {
                cpus: self.course.cpus.clone(),
                quick: true,
                time_limit: left.into_iter().chain([PROGRAM]).min(),
                seed: self.course.seed,
                ..kernels::Options::default()
            };
            match kernels::measure(which, &options, around.topology, around.progress) {
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
        if !has_barriers(measured) && has_barriers(earlier) {
            let new = std::mem::replace(measured, earlier.clone());
            let programs = |what: &String| Which::ALL.iter().any(|which| which.name() == what);
            let whys = new.method.not_available.into_iter().filter(|(what, _)| programs(what));
            measured.method.not_available.extend(whys);
            measured.kernels.extend(new.kernels);
        }
        for (name, kernel) in &earlier.kernels {
            measured.kernels.entry(name.clone()).or_insert_with(|| kernel.clone());
        }
        true
    }
}

impl WithPrograms {
    /// Barriers, fork and join, or why there are none.
    fn barriers(&self, around: &mut Around<'_>) -> Sync {
        let options = Options {
            cpus: self.course.cpus.clone(),
            quick: true,
            time_limit: self.course.time_limit.into_iter().chain([BARRIERS]).min(),
            seed: self.course.seed,
            ..Options::default()
        };
        let measured = measure(&options, around.topology, around.progress);
        let why = match &measured {
            Ok(section) if has_barriers(section) => None,
            Ok(section) if section.method.interrupted => Some("the time was too short".to_owned()),
            Ok(_) => Some("they need two CPUs".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let mut section = measured.unwrap_or_default();
        section.method.not_available.extend(why.map(|why| ("barriers".to_owned(), why)));
        section
    }
}

fn has_barriers(section: &Sync) -> bool {
    section.barriers.iter().any(|barrier| barrier.ns.is_some())
        || section.fork_join.iter().any(|fork_join| fork_join.total_ns.is_some())
}
