//! What `coho run` does: a [`Wish`] in groups of what belongs together, checked as a [`Plan`], which is then carried
//! out.

mod chosen;
mod compared;
mod counted;
mod delegated;
mod error;
mod execute;
mod followed;
mod identity;
mod job;
mod memory;
mod notice;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use coho_probe::placement::Placement;

use crate::delegation::{HostCpus, List};
use crate::live::{self, Measure};
use crate::trial;
pub use chosen::{Measured, Order, Placed, Why};
pub use delegated::Delegation;
pub use error::{Error, Left};
pub use execute::Outcome;
pub use identity::Unknown;
pub use memory::{Memory, default_profile};
pub use notice::{Listener, Notice};

/// What a command is to be run with.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub location: Location,
    /// The program's OpenMP runs on coho's teams.
    pub openmp: Option<Teams>,
    /// Its MPI has coho's barrier.
    pub mpi: Option<Mpi>,
    /// Other cores execute its system calls.
    pub delegation: Option<Delegated>,
    /// What is compared.
    pub comparison: Option<Comparison>,
    /// How trials are made, also those of [`Place::Auto`].
    pub rounds: trial::Options,
    /// What is known of the machine and remembered of the command.
    pub memory: Memory,
}

impl Wish {
    /// Whether the number of threads of each region is to be found.
    fn finds_threads(&self) -> bool {
        self.openmp.as_ref().is_some_and(|teams| teams.finds_threads)
    }
}

/// The CPUs of a command, and how its threads and processes get them.
#[derive(Debug, Clone)]
pub struct Location {
    /// The CPUs.
    pub place: Place,
    /// Threads to make room for.
    pub threads: Option<u32>,
    /// What is pinned to one CPU each.
    pub pinned: Option<Pinned>,
    /// OpenMP is told the CPUs in their order.
    pub omp_places: bool,
}

/// A placement, or the remembered one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The best in a trial, which is made if none is remembered.
    Auto,
    /// This one.
    Named(Placement),
}

impl FromStr for Place {
    type Err = coho_probe::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Named).map_err(|why: Self::Err| {
                coho_probe::Error::Argument(format!("{why}; or auto: the best by trial"))
            }),
        }
    }
}

/// What takes the next CPU of the placement each time one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinned {
    /// Each new thread.
    Threads,
    /// Each new process.
    Processes,
}

/// How a program runs on coho's teams.
#[derive(Debug, Clone, Default)]
pub struct Teams {
    /// It is not run: the plan only finds out whether it would be taken over.
    pub only_check: bool,
    /// Where each process's regions and barriers are written to.
    pub count: Option<PathBuf>,
    /// The number of threads of each region is found while the program runs.
    pub finds_threads: bool,
    /// The program's output goes to standard error, as standard output is for what was chosen.
    pub to_stderr: bool,
}

/// How a program's MPI has coho's barrier.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mpi {
    /// It is not run: the plan only finds out what would be served.
    pub only_check: bool,
}

/// Which calls other cores execute, and where.
#[derive(Debug, Clone)]
pub struct Delegated {
    /// The calls.
    pub calls: List,
    /// The hosts' CPUs; one near the program's if empty.
    pub hosts: Vec<HostCpus>,
    /// Whether each process of the command takes one CPU of each list of hosts, in turn.
    pub per_process: bool,
    /// How long an accepted write may stay undone; the library's default if `None`.
    pub flush: Option<Duration>,
}

/// What is compared; an empty list of placements means those worth trying.
#[derive(Debug, Clone)]
pub enum Comparison {
    /// Several runs: of placements or, with OpenMP or delegation, with and without that.
    Trial(Vec<Placement>),
    /// One run, which is moved between placements.
    Live {
        /// The placements.
        placements: Vec<Placement>,
        /// What counts as progress; instructions if `None`.
        measure: Option<Measure>,
        /// How it is compared.
        options: live::Options,
    },
}

/// A checked wish.
#[derive(Debug, Clone)]
pub struct Plan {
    wish: Wish,
    act: Act,
}

/// What is done, in one word.
#[derive(Debug, Clone)]
enum Act {
    Check,
    CheckMpi,
    Once(Placement),
    Auto,
    TryPlacements(Vec<Placement>),
    TryOpenMp,
    TryDelegation,
    Follow { placements: Vec<Placement>, measure: Option<Measure>, options: live::Options },
}

/// Why wishes do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// A trial of OpenMP and delegation at once.
    TwoTrials,
    /// A remembered placement, which was tried without delegation.
    AutoWithDelegation,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoTrials => "--try compares one thing at a time: --openmp or --delegate",
            Self::AutoWithDelegation => "--place auto was tried without --delegate: name a placement",
        })
    }
}

impl std::error::Error for Contradiction {}

impl Plan {
    /// Decides what is done.
    ///
    /// # Errors
    /// If the wishes contradict each other.
    pub fn new(wish: Wish) -> Result<Self, Contradiction> {
        let act = Act::of(&wish)?;
        Ok(Self { wish, act })
    }
}

impl Act {
    fn of(wish: &Wish) -> Result<Self, Contradiction> {
        if wish.openmp.as_ref().is_some_and(|teams| teams.only_check) {
            return Ok(Self::Check);
        }
        if wish.mpi.is_some_and(|mpi| mpi.only_check) {
            return Ok(Self::CheckMpi);
        }
        let (openmp, delegates) = (wish.openmp.is_some(), wish.delegation.is_some());
        let is_trial = matches!(wish.comparison, Some(Comparison::Trial(_)));
        if delegates && openmp && is_trial {
            return Err(Contradiction::TwoTrials);
        }
        if delegates && wish.location.place == Place::Auto {
            return Err(Contradiction::AutoWithDelegation);
        }
        Ok(match (&wish.comparison, &wish.location.place) {
            (Some(Comparison::Trial(_)), _) if openmp => Self::TryOpenMp,
            (Some(Comparison::Trial(_)), _) if delegates => Self::TryDelegation,
            (Some(Comparison::Trial(placements)), _) => Self::TryPlacements(placements.clone()),
            (Some(Comparison::Live { placements, measure, options }), _) => Self::Follow {
                placements: placements.clone(),
                measure: measure.clone(),
                options: options.clone(),
            },
            (None, Place::Named(placement)) => Self::Once(placement.clone()),
            (None, Place::Auto) => Self::Auto,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(change: impl FnOnce(&mut Wish)) -> Wish {
        let place = Place::Named(Placement::None);
        let mut wish = Wish {
            command: vec!["true".into()],
            location: Location { place, threads: None, pinned: None, omp_places: false },
            openmp: None,
            mpi: None,
            delegation: None,
            comparison: None,
            rounds: trial::Options::default(),
            memory: Memory::default(),
        };
        change(&mut wish);
        wish
    }

    #[test]
    fn a_wish_says_what_is_done() {
        let delegated =
            || Delegated { calls: List::default(), hosts: Vec::new(), per_process: false, flush: None };
        let trial = || Some(Comparison::Trial(Vec::new()));
        let act = |change: &dyn Fn(&mut Wish)| Plan::new(wish(change)).map(|plan| plan.act);
        assert!(matches!(act(&|_| ()), Ok(Act::Once(Placement::None))));
        assert!(matches!(act(&|wish| wish.location.place = Place::Auto), Ok(Act::Auto)));
        assert!(matches!(act(&|wish| wish.comparison = trial()), Ok(Act::TryPlacements(_))));
        let openmp = |wish: &mut Wish| {
            (wish.openmp, wish.comparison) = (Some(Teams::default()), trial());
        };
        assert!(matches!(act(&openmp), Ok(Act::TryOpenMp)));
        let delegation = |wish: &mut Wish| {
            (wish.delegation, wish.comparison) = (Some(delegated()), trial());
        };
        assert!(matches!(act(&delegation), Ok(Act::TryDelegation)));
        let both = |wish: &mut Wish| {
            openmp(wish);
            delegation(wish);
        };
        assert_eq!(act(&both).unwrap_err(), Contradiction::TwoTrials);
        let auto = |wish: &mut Wish| {
            (wish.delegation, wish.location.place) = (Some(delegated()), Place::Auto);
        };
        assert_eq!(act(&auto).unwrap_err(), Contradiction::AutoWithDelegation);
        let check = |wish: &mut Wish| {
            both(wish);
            wish.openmp = Some(Teams { only_check: true, ..Teams::default() });
        };
        assert!(matches!(act(&check), Ok(Act::Check)), "nothing is run, so nothing contradicts");
    }
}
