//! What a plan has to say while it is carried out.

use coho_model::openmp::Process;
use coho_probe::Progress;
use coho_probe::placement::Placement;
use coho_profile::{Examination, ShareLine, Trial};
use coho_topology::CpuSet;

use super::{Delegation, Error, Placed, Unknown};
use crate::child::NoInput;
use crate::openmp::{Choices, Ran};

/// Who hears what happens while a plan is carried out.
pub trait Listener {
    /// Hears one notice.
    fn hear(&mut self, notice: Notice<'_>);

    /// Something that is called as a trial goes on, and dropped when it ends.
    fn progress(&mut self) -> Box<dyn FnMut(Progress)>;
}

/// One thing that happened.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Why nothing can be preloaded into the program.
    Objection(String),
    /// Why the program runs without delegation.
    Undelegated(String),
    /// No profile says which calls gain: all are tried.
    NoCurves,
    /// The CPUs that were chosen.
    Placed(&'a Placed),
    /// The delegation that was chosen.
    Delegates(&'a Delegation),
    /// The CPUs of the program in a trial of delegation.
    Divided {
        /// Without delegation.
        without: &'a CpuSet,
        /// With it.
        with: &'a CpuSet,
    },
    /// Nothing is remembered of a command: a trial begins.
    NothingRemembered {
        /// The command's name.
        name: String,
        /// Why.
        why: Unknown,
        /// How often it runs under each placement.
        repeats: u32,
        /// The placements.
        placements: &'a [Placement],
    },
    /// Why the runs of a trial read nothing.
    NoInput(&'a NoInput),
    /// CPU time in user mode of one run on all CPUs and of one on one, in seconds, before the rounds that tell what of it
    /// is sharing.
    OneRunEach {
        /// On all CPUs.
        all_s: f64,
        /// On one.
        one_s: f64,
    },
    /// The lines that one recorded run shows, before others tell whether they all do.
    LinesOfOneRun(&'a [ShareLine]),
    /// The trial that decides the placement.
    AsTried(&'a Trial),
    /// A choice cannot be remembered.
    NotRemembered(&'a Error),
    /// A live command stays under a placement; the name of what counts as progress.
    Settled(&'a Examination, &'a str),
    /// A live command shows no progress.
    Silent,
    /// Why a live command is no longer compared.
    GivenUp(&'a str),
    /// A live command ended too early.
    NeverSettled,
    /// Another runtime than coho's has run processes of the command.
    RanOtherwise(&'a Ran),
    /// No process of the command has used OpenMP, as far as can be seen.
    NoOpenMp,
    /// A process's use of OpenMP.
    Counted(&'a Process),
    /// A process's numbers of threads.
    Chose(&'a Choices),
    /// No process has chosen numbers of threads.
    NothingChosen,
    /// No process counted.
    NothingCounted,
    /// Why a process's counts cannot be read.
    Illegible(String),
    /// Why the counts could not be saved.
    CountsLost(&'a Error),
}

impl Notice<'_> {
    /// Whether it is of something that went wrong, and to be printed in any case.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Objection(_)
            | Self::RanOtherwise(_)
            | Self::NoOpenMp
            | Self::NotRemembered(_)
            | Self::NothingCounted
            | Self::NothingChosen
            | Self::Illegible(_)
            | Self::CountsLost(_) => true,
            Self::Undelegated(_)
            | Self::NoCurves
            | Self::Placed(_)
            | Self::Delegates(_)
            | Self::Divided { .. }
            | Self::NothingRemembered { .. }
            | Self::NoInput(_)
            | Self::OneRunEach { .. }
            | Self::LinesOfOneRun(_)
            | Self::AsTried(_)
            | Self::Settled(..)
            | Self::Silent
            | Self::GivenUp(_)
            | Self::NeverSettled
            | Self::Counted(_)
            | Self::Chose(_) => false,
        }
    }
}
