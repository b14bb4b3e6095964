//! The CPUs of every thread of a program that runs, and of its descendants.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use coho_platform::pin;
use coho_topology::CpuSet;

use crate::child::orphans;

/// New threads and processes inherit their creators' CPUs, so a few passes reach all of them.
const LOOKS: u32 = 10;

/// A tree of processes and the CPUs that it was given. Dropping this restores the previous CPUs.
#[derive(Debug)]
pub struct Affinity {
    root: u32,
    before: CpuSet,
    /// Every set that was given so far: a thread with any other set chose it itself and keeps it.
    given: Vec<CpuSet>,
}

impl Affinity {
    /// For a process that was started on these CPUs, with its descendants, including those whose parents have ended if
    /// this process adopts them.
    pub fn of(root: u32, before: CpuSet) -> Self {
        Self { root, given: vec![before.clone()], before }
    }

    /// Moves every thread to these CPUs, except those that chose their own.
    ///
    /// # Errors
    /// If the kernel does not have the CPUs, or they lie outside the process's cpuset.
    pub fn set(&mut self, cpus: &CpuSet) -> io::Result<()> {
        if !self.given.contains(cpus) {
            self.given.push(cpus.clone());
        }
        for _ in 0..LOOKS {
            if !self.set_once(cpus)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether any thread had to be moved.
    fn set_once(&self, cpus: &CpuSet) -> io::Result<bool> {
        let mut moved = false;
        for thread in threads(self.root) {
            let Ok(now) = pin::of_thread(thread) else { continue };
            if now == *cpus || !self.given.contains(&now) {
                continue;
            }
            match pin::confine_thread(thread, cpus) {
                Ok(()) => moved = true,
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Err(error),
                // It has ended, or runs with more rights than this process.
                Err(_) => {}
            }
        }
        Ok(moved)
    }
}

impl Drop for Affinity {
    fn drop(&mut self) {
        let before = self.before.clone();
        // If the kernel refuses now, nothing more can be done.
        let _ = self.set(&before);
    }
}

/// The threads of a process and of its descendants.
fn threads(root: u32) -> Vec<u32> {
    let mut children = BTreeMap::<u32, Vec<u32>>::new();
    for (process, parent) in orphans::processes() {
        children.entry(parent).or_default().push(process);
    }
    let mut tree = vec![root];
    if orphans::adopted() {
        tree.extend(
            children.remove(&std::process::id()).unwrap_or_default().iter().filter(|&&one| one != root),
        );
    }
    let mut next = 0;
    while let Some(process) = tree.get(next) {
        // Removed entries cannot be visited twice, even if processes end and begin meanwhile.
        tree.extend(children.remove(process).unwrap_or_default());
        next += 1;
    }
    tree.into_iter().flat_map(tasks).collect()
}

fn tasks(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;
    use crate::child::{Job, Running, Signals};

    /// A shell on these CPUs, and its child, which has begun.
    fn sleeper(signals: &Signals, cpus: &CpuSet) -> (Running, u32) {
        let command = ["sh", "-c", "sleep 30 & exec sleep 30"].map(Into::into).into();
        let running = Job { command, cpus: Some(cpus.clone()), ..Job::default() }.start(signals).unwrap();
        loop {
            let child = orphans::processes().into_iter().find(|&(_, parent)| parent == running.id());
            if let Some((child, _)) = child {
                return (running, child);
            }
        }
    }

    fn end(processes: [u32; 2]) {
        for process in processes {
            // SAFETY: both were started here and neither has been waited for.
            unsafe { libc::kill(process as libc::pid_t, libc::SIGKILL) };
        }
    }

    #[test]
    fn a_tree_is_moved_and_put_back() {
        let allowed = pin::allowed().unwrap();
        let last = CpuSet::from_iter(allowed.last());
        let signals = Signals::hold().unwrap();
        let (running, child) = sleeper(&signals, &allowed);
        let mut affinity = Affinity::of(running.id(), allowed.clone());
        affinity.set(&last).unwrap();
        let now = || [running.id(), child].map(|process| pin::of_thread(process).unwrap());
        assert_eq!(now(), [last.clone(), last]);
        assert!(affinity.set(&CpuSet::from_iter([8191])).is_err(), "no such CPU");
        drop(affinity);
        assert_eq!(now(), [allowed.clone(), allowed]);
        end([running.id(), child]);
    }

    #[test]
    fn who_chose_its_cpus_keeps_them() {
        needs!(Capability::TwoCpus);
        let allowed = pin::allowed().unwrap();
        let [first, last] = [allowed.first(), allowed.last()].map(CpuSet::from_iter);
        let signals = Signals::hold().unwrap();
        let (running, child) = sleeper(&signals, &first);
        let mut affinity = Affinity::of(running.id(), allowed);
        affinity.set(&last).unwrap();
        assert_eq!(
            [running.id(), child].map(|process| pin::of_thread(process).unwrap()),
            [first.clone(), first]
        );
        end([running.id(), child]);
    }
}
