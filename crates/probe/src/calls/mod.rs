//! What a system or libc call costs, and what it evicts from the caller's caches (Shimosawa, Hori & Ishikawa).

mod agreement;
mod arch;
mod caches;
mod catalogue;
mod code;
mod cold;
mod conditions;
mod curve;
mod floor;
mod footprint;
mod lab;
pub mod mpi;
mod pmu;
mod record;
mod request;
mod scratch;
mod stage;
mod subject;
mod survey;
mod visit;
pub(crate) mod walk;

use std::fmt;
use std::str::FromStr;

pub use agreement::{Agreement, agreement};
pub use footprint::Curves;
pub use request::Request;
pub use survey::measure;

use coho_profile::{Calls, Method};

use crate::experiment::{Surveyed, Times};
use crate::{Around, Course, Error, Experiment};

/// What to measure, and how thoroughly.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The sets of calls.
    pub sets: Vec<Set>,
    /// Further calls, by name.
    pub extra: Vec<Request>,
    /// Whether performance counters may be used; if there are none, only time is used anyway.
    pub pmu: bool,
    /// Repetitions of each warm figure. Clearing the caches takes milliseconds: a cold figure takes a quarter of them
    /// or, if a time limit is set, as many as fit.
    pub repeats: u32,
    /// Sizes of the working sets whose damage is measured, in bytes; the level-1 data cache's own is added.
    pub damage_bytes: Vec<usize>,
    /// Fewer repetitions than the default of 1000, and fewer working sets.
    pub quick: bool,
    /// Where, and for how long. The calls are made on the first CPU; on the others, as the curves have it.
    pub course: Course,
    /// Whether and how each call is also measured by how much of its caches the caller has used, at home and on another
    /// core.
    pub curves: Option<Curves>,
    /// How this program is started as an MPI rank; without it there are no figures for MPI's calls.
    pub mpi_rank: Option<mpi::RankCommand>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sets: Set::ALL.to_vec(),
            extra: Vec::new(),
            pmu: true,
            repeats: 1000,
            damage_bytes: [8, 24, 32, 64, 256, 1024].map(|kib| kib << 10).to_vec(),
            quick: false,
            course: Course::default(),
            curves: None,
            mpi_rank: None,
        }
    }
}

impl Options {
    /// Options for a first look, which takes some seconds.
    pub fn quick() -> Self {
        Self {
            repeats: 200,
            damage_bytes: [24, 256].map(|kib| kib << 10).to_vec(),
            quick: true,
            ..Self::default()
        }
    }
}

impl Experiment for Options {
    type Section = Calls;

    fn has_figures(section: &Calls) -> bool {
        !section.calls.is_empty()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Calls, Error> {
        let mpi_rank = self.mpi_rank.clone().or_else(|| around.mpi_rank.cloned());
        measure(&Self { mpi_rank, ..self.clone() }, around.progress)
    }

    fn merge(&self, measured: &mut Calls, earlier: &Calls) -> bool {
        // First: curves that are kept are no sign that this run measured any.
        measured.keep_calls_of(Some(earlier));
        measured.keep_curves_of(Some(earlier));
        true
    }
}

impl Surveyed for Options {
    const TIMES: Times = Times::seconds(10, 60);
    const NEEDS_TWO: &'static [&'static str] = &["delegation"];

    fn in_survey(quick: bool, course: Course) -> Self {
        let mut options = Self { repeats: if quick { 50 } else { 100 }, course, ..Self::quick() };
        if quick {
            // An MPI takes seconds to start.
            options.sets.retain(|set| *set != Set::Mpi);
        }
        options
    }

    fn method(section: &mut Calls) -> &mut Method {
        &mut section.conditions
    }
}

/// A set of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    /// getpid, gettimeofday, stat, open, write of 1 byte and close, on a tmpfs (Shimosawa, Hori & Ishikawa, Table 5).
    Syscalls,
    /// fprintf and sprintf of one `%f` (Shimosawa, Hori & Ishikawa, Table 6).
    Libc,
    /// Send, Recv, Isend and Irecv of 1 byte (Shimosawa, Hori & Ishikawa, Table 7), if the machine has an MPI.
    Mpi,
}

impl Set {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Syscalls, Self::Libc, Self::Mpi];

    /// The set's name in a profile and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syscalls => "syscalls",
            Self::Libc => "libc",
            Self::Mpi => "mpi",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Set {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|set| set.name() == text).ok_or_else(|| {
            Error::argument(format!("there is no set of calls {text:?}; there are syscalls, libc and mpi"))
        })
    }
}
