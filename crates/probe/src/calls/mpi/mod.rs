//! Sending and receiving one byte between two ranks (Shimosawa, Hori & Ishikawa, Table 7), where the machine has an
//! MPI.
//!
//! MPI's types differ between libraries, so a few plain C functions over it are compiled here and now by the machine's
//! `mpicc`. Two ranks of the running program, started by `mpiexec`, load them; one measures as for any other call, and
//! tells what came of it in a file. The bytes go through memory that both share, not over a network as in the paper.

mod launch;
mod library;
mod link;
mod rank;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coho_platform::scratch::{self, Wish};
use coho_profile::Calls;
use serde::{Serialize, de::DeserializeOwned};

pub use rank::rank_main;

use super::Options;
use crate::{Error, Progress, pin, stop};
use launch::Tools;
use rank::{BEYOND, Outcome, Task};

/// Files of the private folder: what the ranks are to do, what came of it, and the wish to stop.
const TASK: &str = "task.json";
const RESULT: &str = "result.json";
const STOP: &str = "stop";
/// Time of the measurement where no limit is set.
const LONGEST: Duration = Duration::from_secs(600);

/// How this program is started as an MPI rank: a path follows the arguments, for [`rank_main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankCommand {
    /// The program.
    pub program: PathBuf,
    /// What comes before the path.
    pub arguments: Vec<OsString>,
}

impl RankCommand {
    /// The running program with these arguments.
    ///
    /// # Errors
    /// If the system does not tell which program it is.
    pub fn this(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Self, Error> {
        let program = std::env::current_exe();
        let program = program.map_err(|error| Error::other(format!("the program's own path: {error}")))?;
        Ok(Self { program, arguments: arguments.into_iter().map(|one| one.as_ref().to_owned()).collect() })
    }
}

/// Measures MPI's functions and adds what came of it: rows, or why there are none.
pub(super) fn add(calls: &mut Calls, options: &Options, progress: &mut dyn FnMut(Progress)) {
    progress(Progress { phase: "MPI calls", done: 0, total: 1, left: None });
    let start = Instant::now();
    match measure(options, Duration::from_secs_f64(calls.conditions.duration_s)) {
        Ok(Outcome { calls: found, library }) => {
            calls.calls.extend(found.calls);
            calls.damage.extend(found.damage);
            let conditions = &mut calls.conditions;
            conditions.parameters.insert("mpi".into(), library.into());
            if let Some(peer) = found.conditions.parameters.get("mpi_peer_cpu") {
                conditions.parameters.insert("mpi_peer_cpu".into(), peer.clone());
            }
            conditions.interrupted |= found.conditions.interrupted;
            conditions.involuntary_switches += found.conditions.involuntary_switches;
            conditions.steal_s += found.conditions.steal_s;
            for (name, why) in found.conditions.not_available {
                conditions.not_available.entry(name).or_insert(why);
            }
        }
        Err(why) => {
            calls.conditions.not_available.insert("mpi".into(), why);
            calls.conditions.interrupted |= stop::requested();
        }
    }
    calls.conditions.duration_s += start.elapsed().as_secs_f64();
    progress(Progress { phase: "MPI calls", done: 1, total: 1, left: None });
}

fn measure(options: &Options, spent: Duration) -> Result<Outcome, String> {
    let Some(command) = &options.mpi_rank else {
        return Err("this program does not start itself as MPI ranks".into());
    };
    let limit = options.time_limit.unwrap_or(LONGEST).saturating_sub(spent);
    if stop::requested() || limit.is_zero() {
        return Err("the run was stopped before".into());
    }
    let tools = Tools::find(&std::env::var_os("PATH").unwrap_or_default())?;
    let (measured_cpu, peer_cpu) = cpus(options)?;
    let task = Task {
        measured_cpu,
        peer_cpu,
        pmu: options.pmu,
        repeats: options.repeats,
        damage_bytes: options.damage_bytes.clone(),
        quick: options.quick,
        time_limit: limit,
        seed: options.seed,
    };
    let folder = scratch::Folder::create(Wish { name: "mpi", runs_programs: true, ..Wish::default() })
        .map_err(|error| error.to_string())?;
    write(&folder.path().join(TASK), &task).map_err(|error| error.to_string())?;
    tools.compile(folder.path())?;
    let ran = tools.run(command, folder.path(), Instant::now() + limit + BEYOND);
    let result = folder.path().join(RESULT);
    if !result.exists() {
        return Err(ran.err().unwrap_or_else(|| "the ranks ended without a result".into()));
    }
    let mut outcome: Outcome = read(&result).map_err(|error| error.to_string())?;
    outcome.calls.conditions.parameters.insert("mpi_peer_cpu".into(), peer_cpu.into());
    Ok(outcome)
}

/// The CPU that measures and another for its peer: one that waits for the other's time slice measures nothing.
fn cpus(options: &Options) -> Result<(u32, u32), String> {
    let allowed = pin::allowed().map_err(|error| error.to_string())?;
    let measured = options.cpu.or(allowed.first()).ok_or("the process may use no CPU")?;
    let peer = allowed.iter().find(|&cpu| cpu != measured);
    Ok((measured, peer.ok_or("two ranks need two CPUs, and the process may use one")?))
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::other(format!("{}: {error}", path.display()));
    let text = serde_json::to_string(value).map_err(|error| failed(&error))?;
    let part = path.with_extension("part");
    fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(|error| failed(&error))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::other(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}
