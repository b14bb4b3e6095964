//! Sending and receiving one byte between two ranks (Shimosawa, Hori & Ishikawa, Table 7), if the machine has an MPI.
//!
//! MPI's types differ between libraries, so a few plain C functions over it are compiled here and now by the machine's
//! `mpicc`. Two ranks of the running program, started by `mpiexec`, load them; one measures as for any other call, and
//! writes the result to a file. The bytes go through memory that both share and, in rows of their own, over TCP on the
//! loopback interface: through sockets as in the paper, though not over a network.

mod board;
mod launch;
mod link;
mod rank;
mod sockets;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coho_platform::scratch::{self, Wish};
use coho_platform::{pin, stop};
use coho_profile::{Call, Calls, Damage};
use serde::{Serialize, de::DeserializeOwned};

pub use rank::rank_main;

use super::Options;
use crate::Error;
use crate::frame::{Phase, Progress};
use launch::{Tools, Transport, tcp_segments};
use rank::{BEYOND, Outcome, TRIED, Task};

/// Files in the private folder: the ranks' task, the page of their orders, the result, and a request to stop.
const TASK: &str = "task.json";
const BOARD: &str = "board";
const RESULT: &str = "result.json";
const STOP: &str = "stop";
/// The most time for the measurement if no limit is set.
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
    /// If the system does not say which program it is.
    pub fn this(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Self, Error> {
        let program = std::env::current_exe();
        let program = program.map_err(|error| Error::system("the program's own path", error))?;
        Ok(Self { program, arguments: arguments.into_iter().map(|one| one.as_ref().to_owned()).collect() })
    }
}

/// Whether the machine has an MPI that can be measured.
///
/// # Errors
/// Why it has none.
pub fn available() -> Result<(), String> {
    tools().map(drop)
}

fn tools() -> Result<Tools, String> {
    Tools::find(&std::env::var_os("PATH").unwrap_or_default())
}

/// Measures MPI's functions and adds the result: rows, or the reason why there are none.
pub(super) fn add(calls: &mut Calls, options: &Options, progress: &mut dyn FnMut(Progress)) {
    let mut phase = Phase::new("MPI calls", 2);
    progress(phase.advance(0));
    let start = Instant::now();
    let spent = Duration::from_secs_f64(calls.conditions.duration_s);
    match Ranks::prepare(options) {
        Err(why) => {
            calls.conditions.not_available.insert("mpi".into(), why.clone());
            calls.conditions.not_available.insert(format!("mpi{OVER_TCP}"), why);
            calls.conditions.interrupted |= stop::requested();
        }
        Ok(ranks) => {
            for transport in [Transport::Memory, Transport::Tcp] {
                let limit =
                    options.course.time_limit.unwrap_or(LONGEST).saturating_sub(spent + start.elapsed());
                let outcome = ranks.measure(transport, limit);
                take(calls, transport, outcome);
                progress(phase.advance(1));
            }
        }
    }
    calls.conditions.duration_s += start.elapsed().as_secs_f64();
}

/// The suffix in the names of calls whose bytes went over TCP.
const OVER_TCP: &str = " over TCP";

/// Adds the rows of one transport, or why there are none.
fn take(calls: &mut Calls, transport: Transport, outcome: Result<Outcome, String>) {
    let (of, words) = match transport {
        Transport::Memory => ("", "shared memory, unless variables of the MPI's own say otherwise"),
        Transport::Tcp => (OVER_TCP, "TCP on the loopback"),
    };
    let conditions = &mut calls.conditions;
    match outcome {
        Ok(Outcome { calls: found, library, in_socket }) => {
            let call = |call: Call| Call { name: call.name + of, ..call };
            calls.calls.extend(found.calls.into_iter().map(call));
            let damage = |damage: Damage| Damage { name: damage.name + of, ..damage };
            calls.damage.extend(found.damage.into_iter().map(damage));
            conditions.parameters.insert("mpi".into(), library.into());
            conditions
                .parameters
                .insert(format!("mpi_transport{}", of.replace(' ', "_").to_lowercase()), words.into());
            if transport == Transport::Tcp {
                conditions.parameters.insert("mpi_in_socket_over_tcp".into(), in_socket.into());
                if in_socket <= TRIED / 2 {
                    let why = format!(
                        "the library holds messages before they are received ({in_socket} of {TRIED} waited)"
                    );
                    conditions.not_available.insert(format!("MPI_Recv{of} from a socket"), why);
                }
            }
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
            conditions.not_available.insert(format!("mpi{of}"), why);
            conditions.interrupted |= stop::requested();
        }
    }
}

/// The compiled functions, and what starts the ranks.
struct Ranks<'a> {
    options: &'a Options,
    command: &'a RankCommand,
    tools: Tools,
    /// The CPU that measures, and its peer's.
    cpus: (u32, u32),
    folder: scratch::Folder,
}

impl<'a> Ranks<'a> {
    fn prepare(options: &'a Options) -> Result<Self, String> {
        let command = options.mpi_rank.as_ref().ok_or("this program does not start itself as MPI ranks")?;
        if stop::requested() {
            return Err("the run was stopped before".into());
        }
        let tools = tools()?;
        let cpus = cpus(options)?;
        let folder = scratch::Folder::create(Wish { name: "mpi", runs_programs: true, ..Wish::default() })
            .map_err(|error| error.to_string())?;
        tools.compile(folder.path())?;
        Ok(Self { options, command, tools, cpus, folder })
    }

    fn measure(&self, transport: Transport, limit: Duration) -> Result<Outcome, String> {
        if stop::requested() || limit.is_zero() {
            return Err("the run was stopped before".into());
        }
        let (options, (measured_cpu, peer_cpu)) = (self.options, self.cpus);
        let task = Task {
            measured_cpu,
            peer_cpu,
            pmu: options.pmu,
            repeats: options.repeats,
            damage_bytes: options.damage_bytes.clone(),
            quick: options.quick,
            time_limit: limit,
            seed: options.course.seed,
        };
        let folder = self.folder.path();
        write(&folder.join(TASK), &task).map_err(|error| error.to_string())?;
        let board = folder.join(BOARD);
        fs::write(&board, [0; board::BYTES]).map_err(|error| format!("{}: {error}", board.display()))?;
        let result = folder.join(RESULT);
        // The result of the previous transport.
        let _ = fs::remove_file(&result);
        let before = tcp_segments();
        let ran = self.tools.run(self.command, transport, folder, Instant::now() + limit + BEYOND);
        if !result.exists() {
            return Err(ran.err().unwrap_or_else(|| "the ranks ended without a result".into()));
        }
        let mut outcome: Outcome = read(&result).map_err(|error| error.to_string())?;
        if transport == Transport::Tcp {
            verify(
                tcp_segments().zip(before).map(|(now, before)| now.saturating_sub(before)),
                options.repeats,
            )?;
        }
        outcome.calls.conditions.parameters.insert("mpi_peer_cpu".into(), peer_cpu.into());
        Ok(outcome)
    }
}

/// Whether the bytes went over TCP: a library may ignore the request.
fn verify(segments: Option<u64>, repeats: u32) -> Result<(), String> {
    match segments {
        None => Err("/proc/net/snmp does not say whether the library used TCP as requested".into()),
        // Each function moves one message a call; messages of several calls may share a segment.
        Some(sent) if sent < u64::from(repeats) => Err(format!(
            "TCP was requested from the library, but {sent} segments were sent for {repeats} repetitions"
        )),
        Some(_) => Ok(()),
    }
}

/// The CPU that measures and another for its peer: if one waited for the other's time slice, the times would mean
/// nothing.
fn cpus(options: &Options) -> Result<(u32, u32), String> {
    let allowed = pin::allowed().map_err(|error| error.to_string())?;
    let measured =
        options.course.cpus.first().copied().or(allowed.first()).ok_or("the process may use no CPU")?;
    // Another that was named, which may lie beyond the inherited mask.
    let named = options.course.cpus.iter().copied().find(|&cpu| cpu != measured);
    let peer = named.or_else(|| allowed.iter().find(|&cpu| cpu != measured));
    let one = || format!("two ranks need two CPUs, and the process may use only one{}", pin::way_round());
    Ok((measured, peer.ok_or_else(one)?))
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::system(path.display(), error);
    let text = serde_json::to_string(value).map_err(|error| failed(&error))?;
    let part = path.with_extension("part");
    fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(|error| failed(&error))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::system(path.display(), error);
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_over_tcp_are_named_so_and_never_pretended() {
        let found = || {
            let row = Call { name: "MPI_Send".into(), set: "mpi".into(), ..Call::default() };
            Ok(Outcome {
                calls: Calls { calls: vec![row], ..Calls::default() },
                library: "L".into(),
                in_socket: 3,
            })
        };
        let mut calls = Calls::default();
        take(&mut calls, Transport::Memory, found());
        take(&mut calls, Transport::Tcp, found());
        let names: Vec<_> = calls.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["MPI_Send", "MPI_Send over TCP"]);
        let parameters = &calls.conditions.parameters;
        assert!(parameters["mpi_transport"].as_str().unwrap().starts_with("shared memory"));
        assert_eq!(parameters["mpi_transport_over_tcp"], "TCP on the loopback");
        assert_eq!(parameters["mpi_in_socket_over_tcp"], 3);
        assert!(calls.conditions.not_available["MPI_Recv over TCP from a socket"].contains("3 of 20"));
        assert_eq!(verify(Some(2000), 1000), Ok(()));
        take(&mut calls, Transport::Tcp, verify(Some(40), 1000).and_then(|()| found()));
        assert!(calls.conditions.not_available["mpi over TCP"].contains("40 segments"));
        assert!(verify(None, 10).unwrap_err().contains("does not say"));
    }
}
