//! How many threads can run at once: the CPUs that the process may use, and what control groups leave of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use coho_topology::{CpuSet, MAX_CPUS};

use crate::Error;

/// The CPUs that the calling thread may run on.
///
/// # Errors
/// [`Error::System`] if the operating system does not tell.
pub fn allowed_cpus() -> Result<CpuSet, Error> {
    of_thread(0)
}

/// The CPUs that any of the process's threads may run on: threads that have been pinned do not hide the others' CPUs.
///
/// # Errors
/// [`Error::System`] if the operating system does not tell.
pub fn process_cpus() -> Result<CpuSet, Error> {
    let mut all = allowed_cpus()?;
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ids = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    // A thread may have ended meanwhile.
    for cpu in ids.filter_map(|id| of_thread(id).ok()).flat_map(|cpus| cpus.iter().collect::<Vec<_>>()) {
        all.insert(cpu);
    }
    Ok(all)
}

/// Of the thread with this id; 0 is the calling one.
fn of_thread(id: libc::pid_t) -> Result<CpuSet, Error> {
    let mut words = vec![0u64; (MAX_CPUS / 64) as usize];
    let size = words.len() * 8;
    // SAFETY: the kernel writes at most the given number of bytes; the raw call is used because glibc's wrapper
    // assumes 1024 CPUs.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, id, size, words.as_mut_ptr()) };
    let failed = |why: String| Error::System { what: "the CPUs that this process may use", why };
    if bytes < 0 {
        return Err(failed(io::Error::last_os_error().to_string()));
    }
    words.truncate(bytes as usize / 8);
    CpuSet::try_from_words(&words).map_err(|error| failed(error.to_string()))
}

/// The CPU time that the control groups allow, in CPUs: the least of all levels; `None` where there is no quota.
pub fn cpu_quota() -> Option<f64> {
    quota(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new("/sys/fs/cgroup"))
}

/// Both versions: `cpu.max` of the unified hierarchy, `cpu.cfs_quota_us` of the cpu controller's own.
fn quota(groups: &str, root: &Path) -> Option<f64> {
    let mut least: Option<f64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let mounts: &[&str] = match controllers {
            "" => &["", "unified"],
            _ if controllers.split(',').any(|name| name == "cpu") => &[controllers, "cpu"],
            _ => &[],
        };
        for mount in mounts {
            for below in Path::new(path.trim_start_matches('/')).ancestors() {
                let found = quota_in(&root.join(mount).join(below));
                least = [least, found].into_iter().flatten().min_by(f64::total_cmp);
            }
        }
    }
    least
}

fn quota_in(folder: &Path) -> Option<f64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<f64>().ok();
    let unified = fs::read_to_string(folder.join("cpu.max")).ok().and_then(|text| {
        let (quota, period) = text.trim().split_once(' ')?;
        Some((quota.parse().ok()?, period.parse().ok()?))
    });
    let (quota, period) = unified.or_else(|| {
        Some((number(folder.join("cpu.cfs_quota_us"))?, number(folder.join("cpu.cfs_period_us"))?))
    })?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_tightest_quota_of_both_versions() {
        let root = std::env::temp_dir().join(format!("coho-sync-quota-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("cpu,cpuacct/c")).unwrap();
        fs::write(root.join("a/cpu.max"), "150000 100000\n").unwrap();
        fs::write(root.join("a/b/cpu.max"), "max 100000\n").unwrap();
        fs::write(root.join("cpu,cpuacct/c/cpu.cfs_quota_us"), "50000\n").unwrap();
        fs::write(root.join("cpu,cpuacct/c/cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(quota("0::/a/b\n", &root), Some(1.5));
        assert_eq!(quota("4:cpu,cpuacct:/c\n0::/a/b\n", &root), Some(0.5));
        assert_eq!(quota("4:memory:/c\nnonsense\n", &root), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn this_thread_may_run_somewhere() {
        assert!(!allowed_cpus().unwrap().is_empty());
    }
}
