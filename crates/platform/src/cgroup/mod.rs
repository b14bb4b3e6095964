//! How much CPU time and memory control groups allow, in version 1, version 2 and hybrids.
//!
//! A limit may stand at any level between the process's group and the root; the tightest holds. Version 1 mounts its
//! controllers alone or together (`cpu,cpuacct`) in places that differ between systems, so the list of mounts says
//! where a group's folder is; if that list cannot be read, the usual places are tried. Format: the kernel's
//! Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/, and proc(5) on `/proc/PID/mountinfo`.

mod mounts;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::CpuSet;
use mounts::{Mount, places};

/// Version 1 expresses "no limit" as a huge number of whole pages.
const NO_LIMIT: u64 = 1 << 60;
/// The period that the kernel assumes if `cpu.max` gives none, in us.
const DEFAULT_PERIOD: f64 = 100_000.0;

/// The control groups of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    hierarchies: Vec<Hierarchy>,
}

/// One tree of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Version 1's controllers; none in version 2.
    controllers: Vec<String>,
    /// The folder of the process's group and of all above it, innermost first.
    folders: Vec<PathBuf>,
}

/// The CPU time that the control groups of this process allow, in CPUs; `None` if there is no quota.
pub fn cpu_quota() -> Option<f64> {
    Groups::of_process().cpu_quota()
}

/// One group's memory limit and use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemoryLimit {
    bytes: u64,
    left: u64,
}

impl Groups {
    /// The groups of the calling process; none if the kernel does not say.
    pub fn of_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self::parse(&groups, &mounts, Path::new("/"))
    }

    /// Reads the groups from the texts of `/proc/PID/cgroup` and `/proc/PID/mountinfo`, for mounts that lie below
    /// `root`. Lines that are not understood are left out.
    pub fn parse(groups: &str, mounts: &str, root: &Path) -> Self {
        let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
        let hierarchy = |line: &str| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers: Vec<String> =
                parts.next()?.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let path = Path::new(parts.next().filter(|path| path.starts_with('/'))?);
            let mut folders = Vec::new();
            for (mount, below) in places(&controllers, path, &mounts) {
                let mount = root.join(mount.strip_prefix("/").unwrap_or(&mount));
                folders.extend(below.ancestors().map(|below| mount.join(below)));
            }
            Some(Hierarchy { controllers, folders })
        };
        Self { hierarchies: groups.lines().filter_map(hierarchy).collect() }
    }

    /// The CPU time that the groups allow, in CPUs: the least of all levels; `None` if there is no quota.
    pub fn cpu_quota(&self) -> Option<f64> {
        self.folders("cpu").filter_map(quota).min_by(f64::total_cmp)
    }

    /// The CPUs that the innermost group with a set of its own allows; `None` if there is none.
    pub fn cpuset(&self) -> Option<CpuSet> {
        self.folders("cpuset").find_map(|folder| {
            ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"].iter().find_map(|file| {
                let cpus: CpuSet = fs::read_to_string(folder.join(file)).ok()?.parse().ok()?;
                (!cpus.is_empty()).then_some(cpus)
            })
        })
    }

    /// The memory that the groups allow, in bytes: the least of all levels; `None` if there is no limit.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limits().map(|limit| limit.bytes).min()
    }

    /// The memory that may still be used under the groups' limits, in bytes: the least of all levels; `None` if there
    /// is no limit. File pages that can be dropped count as free.
    pub fn memory_room(&self) -> Option<u64> {
        self.memory_limits().map(|limit| limit.left).min()
    }

    fn memory_limits(&self) -> impl Iterator<Item = MemoryLimit> + '_ {
        self.folders("memory").filter_map(memory)
    }

    /// Folders that may hold a controller's files.
    fn folders<'a>(&'a self, controller: &'a str) -> impl Iterator<Item = &'a Path> {
        let holds = move |hierarchy: &&Hierarchy| {
            hierarchy.controllers.is_empty() || hierarchy.controllers.iter().any(|name| name == controller)
        };
        self.hierarchies
            .iter()
            .filter(holds)
            .flat_map(|hierarchy| hierarchy.folders.iter().map(PathBuf::as_path))
    }
}

fn number(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn quota(folder: &Path) -> Option<f64> {
    let unified = || {
        let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
        let mut words = text.split_ascii_whitespace();
        let quota: f64 = words.next()?.parse().ok()?;
        Some((quota, words.next().map_or(Some(DEFAULT_PERIOD), |period| period.parse().ok())?))
    };
    let first = || {
        // -1 means no quota, and does not parse as a number here.
        let quota = number(folder.join("cpu.cfs_quota_us"))?;
        Some((quota as f64, number(folder.join("cpu.cfs_period_us"))? as f64))
    };
    let (quota, period) = unified().or_else(first)?;
    let cpus = quota / period;
    (cpus.is_finite() && cpus > 0.0).then_some(cpus)
}

fn memory(folder: &Path) -> Option<MemoryLimit> {
    // Beyond `high` the kernel reclaims pages and slows the process down, so it counts as a limit for measurements.
    let unified = [number(folder.join("memory.max")), number(folder.join("memory.high"))];
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let (bytes, used, droppable) = match unified.into_iter().flatten().min() {
        Some(limit) => (limit, number(folder.join("memory.current")), "inactive_file"),
        None => {
            // The second one holds limits of groups that this mount does not show.
            let own = number(folder.join("memory.limit_in_bytes"))?;
            let above = listed(&stat, "hierarchical_memory_limit").unwrap_or(own);
            (own.min(above), number(folder.join("memory.usage_in_bytes")), "total_inactive_file")
        }
    };
    let held = used.unwrap_or(0).saturating_sub(listed(&stat, droppable).unwrap_or(0));
    (bytes < NO_LIMIT).then(|| MemoryLimit { bytes, left: bytes.saturating_sub(held) })
}

/// The number after a name at the beginning of a line.
pub(crate) fn listed(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok()).flatten()
    })
}
