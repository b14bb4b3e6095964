//! Compiles the functions over MPI and starts the ranks, within time limits.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use coho_platform::stop;

use super::{RankCommand, STOP};
use crate::mpi;

/// Time that compiling may take.
const COMPILING: Duration = Duration::from_secs(60);
/// Time that ranks have to end by themselves once they are asked to.
const ENDING: Duration = Duration::from_secs(10);
/// The time between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// How much of a failed process's output is read, in bytes from its end.
const MOST_READ: u64 = 2000;
/// File in a private folder that receives what processes print.
const LOG: &str = "log";

/// Variables that keep the ranks on this machine and let two of them run on it, whatever it has: for MPICH and its
/// relatives, UCX, libfabric and Open MPI 4 and 5. Variables that are already set are left alone.
const ENVIRONMENT: [(&str, &str); 11] = [
    ("HYDRA_IFACE", "lo"),
    ("HYDRA_LAUNCHER", "fork"),
    ("FI_TCP_IFACE", "lo"),
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_oob_tcp_if_include", "lo"),
    ("OMPI_MCA_btl_tcp_if_include", "lo"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
];

/// What the bytes travel through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// Memory that both ranks share, or whatever the user's own variables select.
    Memory,
    /// A socket over loopback; the paper's messages went through sockets, over a network.
    Tcp,
}

impl Transport {
    /// The variables that select it, for each of the libraries.
    const fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Memory => &[("UCX_TLS", "posix,self")],
            Self::Tcp => &[
                // Otherwise MPICH uses shared memory within a machine, whatever the network is.
                ("MPIR_CVAR_NOLOCAL", "1"),
                ("UCX_TLS", "tcp,self"),
                ("UCX_NET_DEVICES", "lo"),
                ("FI_PROVIDER", "tcp"),
                ("OMPI_MCA_pml", "ob1"),
                ("OMPI_MCA_btl", "tcp,self"),
            ],
        }
    }
}

/// Segments of TCP that this network namespace has sent.
pub(super) fn tcp_segments() -> Option<u64> {
    sent(&fs::read_to_string("/proc/self/net/snmp").ok()?)
}

/// `OutSegs` of a line of names and a line of values.
fn sent(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == "OutSegs")?;
    values.split(' ').nth(at)?.parse().ok()
}

/// The machine's MPI: its compiler and its launcher.
#[derive(Debug)]
pub(super) struct Tools {
    mpicc: PathBuf,
    mpiexec: PathBuf,
}

impl Tools {
    /// Looks for both in the path.
    pub(super) fn find(path: &OsStr) -> Result<Self, String> {
        let find = |name: &str| {
            let mut places = std::env::split_paths(path).map(|folder| folder.join(name));
            places
                .find(|place| place.is_file())
                .ok_or_else(|| format!("no {name} (Debian: mpich libmpich-dev)"))
        };
        Ok(Self { mpicc: find("mpicc")?, mpiexec: find("mpiexec")? })
    }

    /// Compiles the functions into the folder.
    pub(super) fn compile(&self, folder: &Path) -> Result<(), String> {
        let source = folder.join("shim.c");
        fs::write(&source, mpi::SOURCE).map_err(|error| format!("{}: {error}", source.display()))?;
        let mut command = Command::new(&self.mpicc);
        command.args(["-O2", "-shared", "-fPIC", "-o"]).arg(folder.join(mpi::FILE)).arg(&source);
        bounded("mpicc", command, folder, Instant::now() + COMPILING)
    }

    /// Runs two ranks to their end. An explicitly requested transport overrides the user's own variables.
    pub(super) fn run(
        &self,
        rank: &RankCommand,
        transport: Transport,
        folder: &Path,
        end: Instant,
    ) -> Result<(), String> {
        let mut command = Command::new(&self.mpiexec);
        let usual = if transport == Transport::Memory { transport.environment() } else { &[] };
        for (name, value) in ENVIRONMENT.iter().chain(usual) {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        if transport != Transport::Memory {
            command.envs(transport.environment().iter().copied());
        }
        command.args(["-n", "2"]).arg(&rank.program).args(&rank.arguments).arg(folder);
        bounded("mpiexec", command, folder, end)
    }
}

/// Runs a command that must end in time. Once a stop is requested, a file in the folder says so.
fn bounded(name: &str, mut command: Command, folder: &Path, mut end: Instant) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let log = folder.join(LOG);
    let mut log =
        OpenOptions::new().create(true).truncate(true).read(true).write(true).open(log).map_err(failed)?;
    let print = |log: &File| log.try_clone().map(Stdio::from).map_err(failed);
    command.stdin(Stdio::null()).stdout(print(&log)?).stderr(print(&log)?).process_group(0);
    // SAFETY: the one call that the new process makes before it becomes the command is a system call without pointers.
    unsafe {
        // Whatever ends this process ends the command: a launcher that is asked to end does not leave its ranks behind.
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut group = Group(command.spawn().map_err(failed)?);
    let mut stopping = false;
    let status = loop {
        if let Some(status) = group.0.try_wait().map_err(failed)? {
            break status;
        }
        if stop::requested() && !stopping {
            stopping = true;
            File::create(folder.join(STOP)).map_err(failed)?;
            end = end.min(Instant::now() + ENDING);
        }
        if Instant::now() >= end {
            return Err(format!("{name} did not end in time{}", last_words(&mut log)));
        }
        sleep(LOOK);
    };
    if status.success() { Ok(()) } else { Err(format!("{name} failed ({status}){}", last_words(&mut log))) }
}

/// The end of the output, on one line.
fn last_words(log: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = log.seek(SeekFrom::End(0)).unwrap_or(0);
    let read =
        log.seek(SeekFrom::Start(length.saturating_sub(MOST_READ))).and_then(|_| log.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if read.is_err() || line.is_empty() { String::new() } else { format!(": {line}") }
}

/// A process and its descendants, none of which is left behind.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = -(self.0.id() as libc::pid_t);
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // A launcher ends its ranks when it is asked to end; ranks in sessions of their own otherwise end by their
            // timers.
            let start = Instant::now();
            while matches!(self.0.try_wait(), Ok(None)) && start.elapsed() < Duration::from_secs(2) {
                // SAFETY: no pointers; the leader has not been reaped, so the number is still the group's.
                unsafe { libc::kill(group, signal) };
                sleep(LOOK);
            }
        }
        // Nothing more can be done about one that SIGKILL does not end at once.
        let _ = self.0.try_wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn run(script: &str, limit: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        bounded("sh", shell(script), folder.path(), Instant::now() + limit)
    }

    #[test]
    fn segments_are_read_by_name() {
        let snmp = "Ip: Forwarding OutSegs\nIp: 1 7\nTcp: RtoMin InSegs OutSegs\nTcp: 200 5 42\n";
        assert_eq!((sent(snmp), sent("Tcp: InSegs\nTcp: 5\n"), sent("")), (Some(42), None, None));
    }

    #[test]
    fn names_what_is_missing() {
        let none = Tools::find(OsStr::new("/nonexistent")).unwrap_err();
        assert_eq!(none, "no mpicc (Debian: mpich libmpich-dev)");
    }

    #[test]
    fn tells_why_a_command_failed() {
        assert_eq!(run("echo noise", Duration::from_secs(60)), Ok(()));
        let failed =
            run("echo out; echo 'no  such\nthing' >&2; exit 7", Duration::from_secs(60)).unwrap_err();
        assert!(failed.contains("exit status: 7") && failed.ends_with(": out no such thing"), "{failed}");
        let long = run("yes | head -c 100000; exit 1", Duration::from_secs(60)).unwrap_err();
        assert!(long.len() < 2 * MOST_READ as usize, "{}", long.len());
    }

    #[test]
    fn ends_a_command_and_what_it_started() {
        let start = Instant::now();
        let marker = format!("600.{}", std::process::id());
        let late = run(&format!("sleep {marker} & sleep {marker}"), Duration::from_millis(300)).unwrap_err();
        assert!(late.starts_with("sh did not end in time"), "{late}");
        assert!(start.elapsed() < Duration::from_secs(60));
        let running = || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
            lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&marker))
        };
        while running() {
            assert!(start.elapsed() < Duration::from_secs(60), "a process was left behind");
            sleep(LOOK);
        }
    }
}
