//! The code that runs in the ranks.

use std::path::Path;
use std::time::Duration;

use coho_platform::{pin, stop, timer};
use coho_profile::Calls;
use serde::{Deserialize, Serialize};

use super::super::{Options, Set, survey};
use super::board::Board;
use super::link::{Function, Link, PEER, serve};
use super::{BOARD, RESULT, STOP, TASK, read, write};
use crate::mpi::{self, Library};
use crate::{Course, Error};

/// How much longer than their given time ranks may live, for starting and ending.
pub(super) const BEYOND: Duration = Duration::from_secs(60);

/// The ranks' task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) measured_cpu: u32,
    pub(super) peer_cpu: u32,
    pub(super) pmu: bool,
    pub(super) repeats: u32,
    pub(super) damage_bytes: Vec<usize>,
    pub(super) quick: bool,
    pub(super) time_limit: Duration,
    pub(super) seed: u64,
}

/// The result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) calls: Calls,
    /// The library's name and version.
    pub(super) library: String,
    /// Of [`TRIED`] messages, how many waited in a socket until they were received.
    pub(super) in_socket: usize,
}

/// Messages that show where they wait.
pub(super) const TRIED: usize = 20;

/// The main function of a program that [`measure`](super::super::measure) has started as an MPI rank.
///
/// # Errors
/// If it was not started in this way, or MPI fails; the launcher reports what the program prints about it.
pub fn rank_main(folder: &Path) -> Result<(), Error> {
    let task: Task = read(&folder.join(TASK))?;
    timer::die_after(task.time_limit + BEYOND).map_err(|error| Error::system("no timer", error))?;
    stop::on_signals().map_err(|error| Error::system("no signal handlers", error))?;
    let library = Library::start(&folder.join(mpi::FILE))?;
    if library.ranks != 2 {
        return Err(Error::work(format!(
            "{} ranks were started instead of 2: mpicc and mpiexec may belong to different MPIs",
            library.ranks
        )));
    }
    let board = Board::open(&folder.join(BOARD))?;
    if library.rank == PEER {
        pin::to(task.peer_cpu)?;
        return serve(&library, &board);
    }
    let version = library.version.clone();
    let link = Link::open(library, board)?;
    let in_socket = link.in_socket(TRIED)?;
    let subjects = Function::ALL.map(|function| link.subject(function)).into();
    let ask = || {
        if !stop::requested() && folder.join(STOP).exists() {
            // SAFETY: the handler takes it for a request to stop.
            unsafe { libc::raise(libc::SIGTERM) };
        }
    };
    let calls = survey::of(&task.options(), |_| (subjects, Vec::new()), &mut |_| ask())?;
    write(&folder.join(RESULT), &Outcome { calls, library: version, in_socket })?;
    link.close()
}

impl Task {
    fn options(&self) -> Options {
        Options {
            sets: vec![Set::Mpi],
            extra: Vec::new(),
            pmu: self.pmu,
            repeats: self.repeats,
            damage_bytes: self.damage_bytes.clone(),
            quick: self.quick,
            course: Course { seed: self.seed, ..Course::on([self.measured_cpu]).within(self.time_limit) },
            ..Options::default()
        }
    }
}
