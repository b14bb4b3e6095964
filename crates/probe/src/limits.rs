//! What is taken away from a measurement: quotas, involuntary switches and stolen time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use coho_topology::CpuSet;

/// Involuntary context switches of the calling thread since it began.
pub fn involuntary_switches() -> u64 {
    // SAFETY: a zeroed rusage is valid and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    usage.ru_nivcsw.max(0) as u64
}

/// Time that the hypervisor took away from these CPUs since boot, in seconds; `None` if the kernel does not tell.
pub fn steal_s(cpus: &CpuSet) -> Option<f64> {
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let stat = fs::read_to_string("/proc/stat").ok()?;
    steal_ticks(&stat, cpus).map(|ticks| ticks as f64 / per_second.max(1) as f64)
}

fn steal_ticks(stat: &str, cpus: &CpuSet) -> Option<u64> {
    let mut total = None;
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some(Ok(cpu)) = fields.next().and_then(|name| name.strip_prefix("cpu")).map(str::parse) else {
            continue;
        };
        if cpus.contains(cpu) {
            // user nice system idle iowait irq softirq steal
            let steal: u64 = fields.nth(7)?.parse().ok()?;
            *total.get_or_insert(0) += steal;
        }
    }
    total
}

/// The limits that control groups set: `cpu quota` in CPUs, `cpuset`, `memory`; only those that are set.
pub fn control_groups() -> BTreeMap<String, String> {
    let mut limits = BTreeMap::new();
    let Ok(groups) = fs::read_to_string("/proc/self/cgroup") else { return limits };
    if let Some(cpus) = quota_cpus(&groups, Path::new("/sys/fs/cgroup")) {
        limits.insert("cpu quota".into(), format!("{cpus} CPUs"));
    }
    for (name, controller, files) in [
        ("cpuset", "cpuset", ["cpuset.cpus.effective", "cpuset.cpus"]),
        ("memory", "memory", ["memory.max", "memory.limit_in_bytes"]),
    ] {
        let found = ancestors(&groups, Path::new("/sys/fs/cgroup"), controller)
            .flat_map(|folder| files.map(|file| folder.join(file)))
            .filter_map(|file| fs::read_to_string(file).ok())
            .map(|text| text.trim().to_owned())
            // An unset v1 memory limit is a huge number of whole pages.
            .find(|text| {
                !text.is_empty() && text != "max" && text.parse::<u64>().map_or(true, |n| n < 1 << 60)
            });
        if let Some(value) = found {
            let unit = if name == "memory" { " bytes" } else { "" };
            limits.insert(name.into(), format!("{value}{unit}"));
        }
    }
    limits
}

/// The CPU time that the control groups allow, in CPUs: the least of all levels; `None` where there is no quota.
pub fn cpu_quota() -> Option<f64> {
    quota_cpus(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new("/sys/fs/cgroup"))
}

/// Memory that this process may still take without displacing anything, in bytes: what the kernel calls available, or
/// what the tightest control group leaves if that is less. `None` if the kernel does not tell.
pub fn available_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    // In kB, which are of 1024 bytes here.
    let available = listed(&meminfo, "MemAvailable:")?.saturating_mul(1024);
    Some(group_memory(&groups, Path::new("/sys/fs/cgroup")).map_or(available, |left| left.min(available)))
}

/// What the control groups leave of their memory limits; file pages that can be dropped count as left.
fn group_memory(groups: &str, root: &Path) -> Option<u64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    ancestors(groups, root, "memory")
        .filter_map(|folder| {
            let (limit, used, droppable) = match number(folder.join("memory.max")) {
                Some(limit) => (limit, number(folder.join("memory.current")), "inactive_file"),
                None => (
                    number(folder.join("memory.limit_in_bytes"))?,
                    number(folder.join("memory.usage_in_bytes")),
                    "total_inactive_file",
                ),
            };
            let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let held = used.unwrap_or(0).saturating_sub(listed(&stat, droppable).unwrap_or(0));
            Some(limit.saturating_sub(held))
        })
        .min()
}

/// The number after a name at the beginning of a line.
fn listed(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok()).flatten()
    })
}

fn quota_cpus(groups: &str, root: &Path) -> Option<f64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<f64>().ok();
    ancestors(groups, root, "cpu")
        .filter_map(|folder| {
            let v2 = fs::read_to_string(folder.join("cpu.max")).ok().and_then(|text| {
                let (quota, period) = text.trim().split_once(' ')?;
                Some((quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?))
            });
            let (quota, period) = v2.or_else(|| {
                Some((number(folder.join("cpu.cfs_quota_us"))?, number(folder.join("cpu.cfs_period_us"))?))
            })?;
            (quota > 0.0 && period > 0.0).then_some(quota / period)
        })
        .min_by(f64::total_cmp)
}

/// The folders of the process's group and of those above it, for a controller, in both versions.
fn ancestors<'a>(groups: &'a str, root: &'a Path, controller: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    groups.lines().flat_map(move |line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let mount = if controllers.is_empty() {
            Some(root.to_path_buf())
        } else {
            controllers.split(',').any(|name| name == controller).then(|| root.join(controllers))
        };
        let path = PathBuf::from(path.trim_start_matches('/'));
        mount
            .into_iter()
            .flat_map(move |mount| path.ancestors().map(|below| mount.join(below)).collect::<Vec<_>>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_steal_of_the_cpus_asked_for() {
        let stat =
            "cpu  9 9 9 9 9 9 9 100 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 30 0 0\nintr 5\n";
        assert_eq!(steal_ticks(stat, &CpuSet::from_iter([0])), Some(8));
        assert_eq!(steal_ticks(stat, &CpuSet::up_to(2)), Some(38));
        assert_eq!(steal_ticks("cpu0 1 2\n", &CpuSet::up_to(1)), None);
    }

    #[test]
    fn takes_the_tightest_quota_of_both_versions() {
        let root = std::env::temp_dir().join(format!("coho-quota-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("cpu,cpuacct/c")).unwrap();
        fs::write(root.join("a/cpu.max"), "150000 100000\n").unwrap();
        fs::write(root.join("a/b/cpu.max"), "max 100000\n").unwrap();
        assert_eq!(quota_cpus("0::/a/b\n", &root), Some(1.5));
        fs::write(root.join("cpu,cpuacct/c/cpu.cfs_quota_us"), "50000\n").unwrap();
        fs::write(root.join("cpu,cpuacct/c/cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(quota_cpus("4:cpu,cpuacct:/c\n0::/a/b\n", &root), Some(0.5));
        assert_eq!(quota_cpus("4:memory:/c\n", &root), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn takes_what_the_tightest_group_leaves_of_memory() {
        let root = std::env::temp_dir().join(format!("coho-memory-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("memory/c")).unwrap();
        fs::write(root.join("a/memory.max"), "1000\n").unwrap();
        fs::write(root.join("a/memory.current"), "700\n").unwrap();
        fs::write(root.join("a/memory.stat"), "anon 100\ninactive_file 200\n").unwrap();
        fs::write(root.join("a/b/memory.max"), "max\n").unwrap();
        assert_eq!(group_memory("0::/a/b\n", &root), Some(500));
        fs::write(root.join("memory/c/memory.limit_in_bytes"), "800\n").unwrap();
        fs::write(root.join("memory/c/memory.usage_in_bytes"), "900\n").unwrap();
        fs::write(root.join("memory/c/memory.stat"), "total_inactive_file 400\n").unwrap();
        assert_eq!(group_memory("4:memory:/c\n0::/a/b\n", &root), Some(300));
        assert_eq!(group_memory("4:cpu:/c\n", &root), None);
        fs::remove_dir_all(root).unwrap();
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }
}
