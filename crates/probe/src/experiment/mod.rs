//! What can be measured: one trait, one table, and the walk over it that makes a survey.

mod course;
mod table;
mod walk;

use std::time::Duration;

use coho_profile::{Method, Stored};
use coho_topology::Topology;

pub use course::Course;
pub use table::{EXPERIMENTS, Entry};
pub use walk::{Observer, Outcome, Plan, Survey, WalkError, single, survey};

use crate::calls::mpi::RankCommand;
use crate::{Error, Progress};

/// An experiment: a value of this type holds its settings.
///
/// What all experiments share, they get from the frame: pinned threads, passes in random order, the end, progress, and
/// the conditions under which it ran. What happens to the section that it measures is the walk's part ([`survey`],
/// [`single`]). The `contention` module is the example to follow.
pub trait Experiment: Sized {
    /// The section of a profile that it measures, or a part of.
    type Section: Stored;

    /// The section's name.
    const SECTION: &'static str = <Self::Section as Stored>::NAME;

    /// By which a reader knows its figures, if they are a part of the section only.
    fn name(&self) -> &'static str {
        Self::SECTION
    }

    /// Whether a section holds a measured figure, rather than just reasons why there is none.
    fn has_figures(section: &Self::Section) -> bool;

    /// Measures. A stop or the time limit ends it early: what it has is returned, marked as interrupted.
    ///
    /// # Errors
    /// If nothing can be measured.
    fn measure(&self, around: &mut Around<'_>) -> Result<Self::Section, Error>;

    /// Whether [`Self::follow_up`] adds anything.
    fn follows_up(&self) -> bool {
        false
    }

    /// Adds to a section what takes longer, for at most `left`. What [`Self::measure`] found is already on disk, unless
    /// there is an earlier survey's section, which stays until this is done.
    fn follow_up(&self, section: &mut Self::Section, left: Option<Duration>, around: &mut Around<'_>) {
        let _ = (section, left, around);
    }

    /// Whether an earlier section holds figures of what this run measures, so that it stays if a signal stops the
    /// run. Without a figure of its own a run changes nothing in any case.
    fn holds(&self, earlier: &Self::Section) -> bool {
        let _ = earlier;
        true
    }

    /// Takes over those rows of an earlier section that this run was not asked for or could not measure. Returns
    /// whether the result may replace the earlier section.
    fn merge(&self, measured: &mut Self::Section, earlier: &Self::Section) -> bool {
        let _ = (measured, earlier);
        true
    }
}

/// An experiment that is part of a survey.
pub trait Surveyed: Experiment {
    /// The most time that it takes.
    const TIMES: Times;

    /// What of it takes two CPUs, in words for the reader.
    const NEEDS_TWO: &'static [&'static str] = &[];

    /// Its settings in a survey that is quick or full, within this course.
    fn in_survey(quick: bool, course: Course) -> Self;

    /// The same in a check of the machine, which wants figures of these keys: as in a quick survey, so that they can be
    /// compared with a survey's, but with as little of the rest as possible.
    fn in_check(keys: &[String], course: Course) -> Self {
        let _ = keys;
        Self::in_survey(true, course)
    }

    /// How a section was measured.
    fn method(section: &mut Self::Section) -> &mut Method;
}

/// The most time that an experiment takes in a survey; `None` for as long as it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// In a quick survey.
    pub quick: Option<Duration>,
    /// In a full one.
    pub full: Option<Duration>,
}

impl Times {
    /// As long as it needs.
    pub const UNLIMITED: Self = Self { quick: None, full: None };

    /// So many seconds in a quick survey, and in a full one.
    pub const fn seconds(quick: u64, full: u64) -> Self {
        Self { quick: Some(Duration::from_secs(quick)), full: Some(Duration::from_secs(full)) }
    }
}

/// What an experiment finds around it.
pub struct Around<'a> {
    /// What the machine says it is.
    pub topology: &'a Topology,
    /// How this program is started as an MPI rank, if it can be.
    pub mpi_rank: Option<&'a RankCommand>,
    /// Is called with the progress.
    pub progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Around<'a> {
    /// No more than every experiment needs.
    pub fn new(topology: &'a Topology, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { topology, mpi_rank: None, progress }
    }
}
