//! Which ranks of a job have this library: each says so in a file in memory, beside MPI, before it first goes on to a
//! collective function of MPI's. When that returns, all ranks of the communicator have come to theirs, so from then on all
//! of them find the same in the file.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;
use std::{env, process};

use crate::shared::{self, Shared};

/// A rank that has this library; zeros for others.
#[repr(C)]
struct Entry {
    process: AtomicU64,
    /// When it began: numbers of processes are used again.
    began: AtomicU64,
}

impl Entry {
    /// Whether the rank has entered, and its process lives.
    fn is_there(&self) -> bool {
        let process = self.process.load(Acquire);
        process != 0 && began(process) == Some(self.began.load(Relaxed))
    }
}

/// How old a file must be whose job cannot be beginning any more.
const OLD: Duration = Duration::from_secs(600);

/// Takes away what jobs have left that were ended from outside.
fn sweep(begin: &str) {
    let Some((folder, begin)) = begin.rsplit_once('/') else { return };
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = file.file_name().to_str().is_some_and(|name| name.starts_with(begin));
        let age = |file: &fs::DirEntry| file.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_ours && age(&file).is_some_and(|age| age > OLD) && is_left(&file.path()) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Whether none of a file's processes lives.
fn is_left(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let (entries, _) = bytes.as_chunks::<{ size_of::<Entry>() }>();
    entries.iter().all(|entry| {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| entry[at + byte]));
        !Entry { process: word(0).into(), began: word(8).into() }.is_there()
    })
}

/// Variables that name a job, as PMIx's launchers set them: its name, and whom its processes talk to.
const PMIX: [&str; 5] =
    ["PMIX_NAMESPACE", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2"];
/// The parent of all of a job's processes on a node under MPICH's launcher, as the kernel names it.
const PROXY: &str = "hydra_pmi_proxy";

/// The job's file as one of its ranks sees it.
pub(crate) struct Roll {
    memory: Shared,
    ranks: usize,
    path: String,
}

impl Roll {
    /// Enters this process as the rank of a job of so many; otherwise why not.
    pub(crate) fn enter(rank: usize, ranks: usize) -> Result<Self, String> {
        // Its own ranks count from 0, in a file of the same name.
        if env::var_os("PMI_SPAWNED").is_some_and(|spawned| spawned != "0") {
            return Err("MPI_Comm_spawn has started it".into());
        }
        let job = job().ok_or("its launcher is not known")?;
        let mut hasher = DefaultHasher::new();
        (job, ranks, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        // SAFETY: no arguments.
        let user = unsafe { libc::geteuid() };
        let begin = format!("/dev/shm/coho-mpi-{user}-");
        if rank == 0 {
            sweep(&begin);
        }
        let path = format!("{begin}{:016x}", hasher.finish());
        let memory = Shared::open_or_create(&path, ranks * size_of::<Entry>());
        let memory = memory.map_err(|why| format!("{path}: {why}"))?;
        let roll = Self { memory, ranks, path };
        let own = roll.entry(rank).ok_or("no such rank")?;
        let began = began(process::id().into()).ok_or("/proc is not mounted")?;
        own.began.store(began, Relaxed);
        own.process.store(process::id().into(), Release);
        Ok(roll)
    }

    fn entry(&self, rank: usize) -> Option<&Entry> {
        // SAFETY: within the memory, which is aligned to pages and used as such entries alone.
        (rank < self.ranks).then(|| unsafe { self.memory.start().cast::<Entry>().add(rank).as_ref() })
    }

    /// Whether all of these ranks of the job have this library, on this node.
    pub(crate) fn has(&self, ranks: &[i32]) -> bool {
        ranks.iter().all(|&rank| {
            let Some(entry) = usize::try_from(rank).ok().and_then(|rank| self.entry(rank)) else {
                return false;
            };
            entry.is_there()
        })
    }

    /// Takes the file's name away. Ranks that have it open keep it; if another comes later, none of them finds the other.
    pub(crate) fn close(&self) {
        shared::remove(&self.path);
    }
}

/// What names the job among all that this user runs on the node.
fn job() -> Option<String> {
    if env::var_os(PMIX[0]).is_some() {
        return Some(PMIX.map(|name| env::var(name).unwrap_or_default()).join("\n"));
    }
    let mut process = u64::from(process::id());
    while process > 1 {
        let (name, parent) = named(process)?;
        if name == PROXY {
            return Some(format!("{process} {}", began(process)?));
        }
        process = parent;
    }
    None
}

/// A process's name and parent.
fn named(process: u64) -> Option<(String, u64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), after.split_whitespace().nth(1)?.parse().ok()?))
}

/// When a process began, in the kernel's ticks since it started.
fn began(process: u64) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_known_by_their_beginning() {
        let own = u64::from(process::id());
        assert!(began(own).unwrap() > 0);
        let (_, parent) = named(own).unwrap();
        // SAFETY: no arguments.
        assert_eq!(parent, unsafe { libc::getppid() } as u64);
        assert_eq!(began(u64::MAX), None);
    }

    #[test]
    fn who_has_not_entered_or_has_ended_is_not_there() {
        let path = format!("/dev/shm/coho-mpi-test-{}", process::id());
        let memory = Shared::open_or_create(&path, 3 * size_of::<Entry>()).unwrap();
        let roll = Roll { memory, ranks: 3, path };
        let enter = |rank: usize, process: u64, began: u64| {
            let entry = roll.entry(rank).unwrap();
            entry.began.store(began, Relaxed);
            entry.process.store(process, Release);
        };
        let own = u64::from(process::id());
        enter(0, own, began(own).unwrap());
        enter(1, own, began(own).unwrap() + 1);
        assert!(roll.has(&[0]) && roll.has(&[0, 0]));
        for others in [&[1][..], &[0, 2], &[0, 3], &[-1]] {
            assert!(!roll.has(others), "{others:?}");
        }
        assert!(!is_left(Path::new(&roll.path)), "one is there");
        enter(0, own, began(own).unwrap() + 1);
        assert!(is_left(Path::new(&roll.path)));
        roll.close();
    }
}
