//! Pinning the calling thread to a CPU, and making sure that it is there.

use std::fs;
use std::io;

use coho_topology::{CpuSet, MAX_CPUS};

use crate::Error;

const WORDS: usize = (MAX_CPUS / 64) as usize;

/// The CPUs that the calling thread may run on.
///
/// # Errors
/// If the operating system does not tell.
pub fn allowed() -> Result<CpuSet, Error> {
    of_thread(0)
}

/// The CPUs that a thread may run on; 0 is the calling thread.
///
/// # Errors
/// If there is no such thread, or the operating system does not tell.
pub fn of_thread(thread: u32) -> Result<CpuSet, Error> {
    let mut words = vec![0u64; WORDS];
    // SAFETY: the kernel writes at most the given number of bytes; the raw call is used because glibc's wrapper
    // assumes 1024 CPUs.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, WORDS * 8, words.as_mut_ptr()) };
    if bytes < 0 {
        return Err(Error::other(format!("sched_getaffinity: {}", io::Error::last_os_error())));
    }
    words.truncate(bytes as usize / 8);
    CpuSet::try_from_words(&words).map_err(|error| Error::other(error.to_string()))
}

/// The CPU that the caller runs on.
pub fn current() -> Option<u32> {
    // SAFETY: no arguments.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Confines the calling thread to a set of CPUs.
///
/// # Errors
/// The operating system's own.
pub fn confine(cpus: &CpuSet) -> io::Result<()> {
    confine_thread(0, cpus)
}

/// Confines a thread of any process to a set of CPUs; 0 is the calling thread.
///
/// # Errors
/// The operating system's own: there is no such thread (any more), it belongs to somebody else, or has none of the CPUs.
pub fn confine_thread(thread: u32, cpus: &CpuSet) -> io::Result<()> {
    let words = cpus.words();
    // SAFETY: the kernel reads exactly the given number of bytes.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, words.len() * 8, words.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Pins the calling thread to one CPU and verifies that it is there.
///
/// # Errors
/// [`Error::Cpu`], saying whether the CPU does not exist, is offline or lies outside what the process may use.
pub fn to(cpu: u32) -> Result<(), Error> {
    if cpu >= MAX_CPUS {
        return Err(Error::cpu(cpu, format!("CPU numbers end at {}", MAX_CPUS - 1)));
    }
    let refused = |error: io::Error| Error::cpu(cpu, refusal(cpu).unwrap_or_else(|| error.to_string()));
    confine(&CpuSet::from_iter([cpu])).map_err(refused)?;
    verify(cpu)
}

/// Checks that the calling thread is still pinned to `cpu` and runs there: a CPU that is taken offline or out of the
/// cpuset lets go of its threads silently.
///
/// # Errors
/// [`Error::Cpu`] with where the thread is instead.
pub fn verify(cpu: u32) -> Result<(), Error> {
    let allowed = allowed()?;
    if allowed != CpuSet::from_iter([cpu]) {
        return Err(Error::cpu(cpu, format!("a thread pinned to it may now run on {allowed}")));
    }
    match current() {
        Some(now) if now != cpu => Err(Error::cpu(cpu, format!("a thread pinned to it runs on CPU {now}"))),
        _ => Ok(()),
    }
}

/// Why this process cannot use a CPU, which stands behind the kernel's EINVAL; `None` if nothing tells.
pub(crate) fn refusal(cpu: u32) -> Option<String> {
    let listed =
        |path: &str| fs::read_to_string(path).ok().and_then(|list| list.trim().parse::<CpuSet>().ok());
    let possible = listed("/sys/devices/system/cpu/possible");
    let online = listed("/sys/devices/system/cpu/online");
    if let Some(set) = possible.filter(|set| !set.contains(cpu)) {
        return Some(format!("there is no such CPU; this machine has {set}"));
    }
    if let Some(set) = online.filter(|set| !set.contains(cpu)) {
        return Some(format!("it is offline; online are {set}"));
    }
    let outside = cpuset().filter(|set| !set.contains(cpu));
    outside.map(|set| format!("it is outside the process's cpuset, {set}"))
}

/// What the kernel lists as allowed for the process's main thread, which pinned workers do not change.
fn cpuset() -> Option<CpuSet> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_to_each_allowed_cpu() {
        for cpu in allowed().unwrap().iter() {
            std::thread::spawn(move || {
                to(cpu).unwrap();
                verify(cpu).unwrap();
                assert_eq!(current(), Some(cpu));
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn names_the_cpu_that_does_not_exist() {
        let error = std::thread::spawn(|| to(60_000)).join().unwrap().unwrap_err();
        assert!(error.to_string().starts_with("CPU 60000 cannot be used: there is no such CPU"), "{error}");
        assert!(to(MAX_CPUS).is_err());
    }

    #[test]
    fn notices_a_lost_pin() {
        let first = allowed().unwrap().first().unwrap();
        let error = std::thread::spawn(move || {
            to(first).unwrap();
            verify(first + 1)
        });
        assert!(error.join().unwrap().is_err());
    }
}
