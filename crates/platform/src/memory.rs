//! How much memory this process may still use.

use std::fs;

use crate::cgroup::{Groups, listed};

/// Address space that glibc's allocator reserves for a thread, however much of it is used.
const ARENA: u64 = if cfg!(target_pointer_width = "64") { 64 << 20 } else { 1 << 20 };

/// Memory that this process may still use without displacing anything, in bytes: the least of what the kernel calls
/// available, what control groups leave and what the process's own limits (`RLIMIT_AS`, `RLIMIT_DATA`) leave.
///
/// Without `/proc/meminfo`, the free memory of sysinfo(2) is taken instead; it is less than the available memory.
pub fn room() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").ok();
    let machine = meminfo.as_deref().and_then(available).unwrap_or_else(free);
    let groups = Groups::of_process().memory_room();
    let limits = || {
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let (mapped, data) = in_use(&statm, page_size());
        [(libc::RLIMIT_AS, mapped.saturating_add(ARENA)), (libc::RLIMIT_DATA, data)]
            .map(|(resource, used)| left_of(resource, used))
    };
    limits().into_iter().chain([groups]).flatten().fold(machine, u64::min)
}

/// Has all threads allocate from one arena if the address space is limited (`RLIMIT_AS`): each arena of its own reserves
/// what the threads' stacks and regions need then. To be called before there are threads.
pub fn spare_address_space() {
    #[cfg(target_env = "gnu")]
    if left_of(libc::RLIMIT_AS, 0).is_some() {
        // SAFETY: no pointers.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// The size of a small page, in bytes.
pub fn page_size() -> u64 {
    // SAFETY: no pointers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// What `/proc/meminfo` calls available, in bytes; its kB are of 1024 bytes. For kernels before 3.14, which do not
/// report it, this is the memory that is free or can be dropped.
fn available(meminfo: &str) -> Option<u64> {
    let kib = listed(meminfo, "MemAvailable:").or_else(|| {
        let parts = ["MemFree:", "Buffers:", "Cached:"].map(|name| listed(meminfo, name));
        parts.into_iter().sum()
    })?;
    Some(kib.saturating_mul(1024))
}

/// Free memory by system call, in bytes.
fn free() -> u64 {
    // SAFETY: zeroes are a valid sysinfo, which the kernel fills.
    let (done, found) = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        (libc::sysinfo(&raw mut info) == 0, info)
    };
    let units = found.freeram.saturating_add(found.bufferram);
    if done { units.saturating_mul(u64::from(found.mem_unit.max(1))) } else { 0 }
}

/// Bytes mapped, and bytes of data, by `/proc/self/statm`; 0 if it cannot be read: the process's own memory is little
/// then.
fn in_use(statm: &str, page: u64) -> (u64, u64) {
    let pages: Vec<u64> = statm.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    // size resident shared text lib data dirty
    let bytes = |index: usize| pages.get(index).copied().unwrap_or(0).saturating_mul(page);
    (bytes(0), bytes(5))
}

/// Bytes of addresses that a process may have (`RLIMIT_AS`), as this process and those that it starts; `None` if there
/// is no limit.
pub fn most_addresses() -> Option<u64> {
    left_of(libc::RLIMIT_AS, 0)
}

/// The type of a limit's name, which C libraries do not agree on.
#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// What is left under a limit of this process; `None` if there is no limit.
fn left_of(resource: Resource, used: u64) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel fills the structure.
    let done = unsafe { libc::getrlimit(resource, &raw mut limit) } == 0;
    (done && limit.rlim_cur != libc::RLIM_INFINITY).then(|| limit.rlim_cur.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_of_new_and_old_kernels() {
        let new = "MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:  7 kB\nBuffers: 1 kB\nCached: 1 kB\n";
        assert_eq!(available(new), Some(7 * 1024));
        assert_eq!(available("MemFree: 1 kB\nBuffers: 2 kB\nCached: 3 kB\n"), Some(6 * 1024));
        assert_eq!(available("MemFree: 1 kB\n"), None);
        assert_eq!(available(""), None);
    }

    #[test]
    fn statm_counts_pages() {
        assert_eq!(in_use("10 5 3 1 0 4 0\n", 4096), (10 * 4096, 4 * 4096));
        assert_eq!(in_use("", 4096), (0, 0));
        assert_eq!(in_use("ten 5", 4096), (0, 0));
    }

    #[test]
    fn there_is_room_by_each_way() {
        assert!(room() > 0);
        assert!(free() > 0);
        assert!(page_size().is_power_of_two());
    }

    #[test]
    fn a_limit_of_the_process_bounds_the_room() {
        const LIMIT: u64 = 3 << 30;
        // In a child, as the limit holds for a whole process.
        // SAFETY: the child makes system calls, reads files and leaves; it touches no lock of the other threads but
        // the allocator's, which glibc and musl reset in fork.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let limit = libc::rlimit { rlim_cur: LIMIT, rlim_max: LIMIT };
            // SAFETY: the kernel reads the structure.
            let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } == 0;
            let mapped = in_use(&fs::read_to_string("/proc/self/statm").unwrap_or_default(), page_size()).0;
            let bounded = mapped > 0 && room() <= LIMIT - mapped.min(LIMIT) + (1 << 20);
            // SAFETY: leaves without running anything of the parent's.
            unsafe { libc::_exit(if set && bounded { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child that was just made.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}
