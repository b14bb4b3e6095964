//! Why a plan was not carried out, or not to its end.

use std::fmt;
use std::io;

use coho_platform::{room, scratch, state};
use coho_profile::OtherMachine;

use crate::child::Failed;
use crate::delegation::{self, NoHost};
use crate::{NotExamined, live, preload, trial};

/// Why a plan was not carried out, or not to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The command could not be started; shells have an exit status for that.
    Start(Failed),
    /// Its end could not be waited for.
    Wait(io::Error),
    /// Signals could not be held for the command.
    Signals(io::Error),
    /// Processes that the command leaves behind could not be adopted.
    Orphans(io::Error),
    /// The topology is not known.
    Topology(coho_topology::Error),
    /// The CPUs that may be used are not known.
    Room(room::Error),
    /// The placement cannot be had.
    Placement(coho_probe::Error),
    /// The profile cannot be read or written.
    Profile(coho_profile::Error),
    /// The profile is of another machine.
    OtherMachine(OtherMachine),
    /// There is no folder to remember choices in.
    NoState(state::Error),
    /// The profile remembers a placement that is none.
    UnknownPlacement {
        /// As it is remembered.
        name: String,
        /// What a placement is.
        why: coho_probe::Error,
    },
    /// A library is not there to be preloaded.
    Preload(preload::Error),
    /// The program's accesses cannot be counted.
    NotCounted(preload::NotCounted),
    /// What a preloaded library would do with the program is not known.
    NotExamined(NotExamined),
    /// The same runtime would run both parts of a trial of OpenMP, or has: why.
    OneRuntime(String),
    /// What processes decide cannot be told.
    Decisions(io::Error),
    /// Hosts were requested twice for a call.
    Hosts(delegation::Error),
    /// The requested hosts cannot be had.
    NoHost(NoHost),
    /// A trial of delegation without delegation.
    NothingToCompare,
    /// A trial of OpenMP with placements.
    ListWithOpenMp,
    /// A trial of delegation with placements.
    ListWithDelegation,
    /// A trial failed.
    Trial(trial::Error),
    /// A trial without a complete round.
    NoRound,
    /// A trial, on which a choice was to rest, without a complete round.
    NotCompared,
    /// A live command's progress cannot be measured: why instructions are not counted.
    NoProgress(live::NotCounted),
    /// A live command could not be followed.
    Live(String),
    /// There is no folder for counts.
    NoCountFolder(scratch::Error),
    /// The folder for counts cannot be read.
    CountFolder(io::Error),
    /// A signal ended the plan.
    Stopped {
        /// Its number.
        signal: i32,
        /// What is left of a trial.
        left: Option<Left>,
    },
}

/// What a signal left of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// No verdict on which the command could run.
    NotCompared,
    /// No complete round.
    NoRound,
    /// The complete rounds.
    Remembered,
    /// An earlier trial.
    Earlier,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCompared => "the placements were not compared",
            Self::NoRound => "no round was complete",
            Self::Remembered => "the rounds that were complete are remembered",
            Self::Earlier => "the earlier trial stays remembered",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(failed) => failed.fmt(f),
            Self::Wait(error) => error.fmt(f),
            Self::Signals(error) => write!(f, "cannot hold signals for the command: {error}"),
            Self::Orphans(error) => write!(f, "cannot look after what the command starts: {error}"),
            Self::Topology(error) => write!(f, "cannot detect the topology: {error}"),
            Self::Room(error) => error.fmt(f),
            Self::Placement(error) => error.fmt(f),
            Self::Profile(error) => error.fmt(f),
            Self::OtherMachine(error) => error.fmt(f),
            Self::NotCounted(why) => why.fmt(f),
            Self::NoState(error) => {
                write!(f, "no choice can be remembered; name a file by --profile: {error}")
            }
            Self::UnknownPlacement { name, why } => write!(f, "the profile remembers '{name}': {why}"),
            Self::Preload(error) => error.fmt(f),
            Self::NotExamined(error) => error.fmt(f),
            Self::OneRuntime(why) => write!(f, "there is nothing to compare: {why}"),
            Self::Decisions(error) => write!(f, "cannot learn whether coho takes over: {error}"),
            Self::Hosts(why) => write!(f, "--host-cpus: {why}"),
            Self::NoHost(why) => write!(f, "--host-cpus: {why}"),
            Self::NothingToCompare => f.write_str("there is nothing to compare"),
            Self::ListWithOpenMp => f.write_str("--try takes no list of placements with --openmp"),
            Self::ListWithDelegation => f.write_str("--try takes no list of placements beside --delegate"),
            Self::Trial(error) => error.fmt(f),
            Self::NoRound => f.write_str("the trial was stopped before every placement had run once"),
            Self::NotCompared => f.write_str("the trial was stopped before its placements were compared"),
            Self::NoProgress(why) => write!(
                f,
                "the command's progress cannot be measured: instructions are not counted: {why}; if the command prints \
                 a rate, name it: --rate 'trips/s: ([0-9.]+)'"
            ),
            Self::Live(why) => f.write_str(why),
            Self::NoCountFolder(error) => write!(f, "no folder for counts: {error}"),
            Self::CountFolder(error) => write!(f, "the folder for counts: {error}"),
            Self::Stopped { signal, left: Some(left) } => write!(f, "{left}: stopped by signal {signal}"),
            Self::Stopped { signal, left: None } => write!(f, "stopped by signal {signal}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<live::Error> for Error {
    fn from(error: live::Error) -> Self {
        match error {
            live::Error::Start(failed) => Self::Start(failed),
            live::Error::Other(why) => Self::Live(why),
        }
    }
}

/// Errors that keep their own words.
macro_rules! from {
    ($($variant:ident: $error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}

from! {
    Placement: coho_probe::Error,
    Profile: coho_profile::Error,
    OtherMachine: OtherMachine,
    Preload: preload::Error,
    NotExamined: NotExamined,
    Trial: trial::Error,
}
