//! Confining threads to CPUs.

use std::fs;
use std::io;

use coho_topology::CpuSet;

use crate::Error;

/// Confines the calling thread to a set of CPUs.
pub(crate) fn confine(cpus: &CpuSet) -> io::Result<()> {
    let words = cpus.words();
    // SAFETY: the kernel reads exactly the given number of bytes.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, words.len() * 8, words.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Pins the calling thread to one CPU and verifies that it is there.
pub(crate) fn to(cpu: u32) -> Result<(), Error> {
    let refused = |why| Error::Cpu { cpu, why };
    let mut only = CpuSet::new();
    only.try_insert(cpu).map_err(|error| refused(error.to_string()))?;
    confine(&only).map_err(|error| {
        let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        refused(format!("a thread cannot be pinned to it ({error}); online are {}", online.trim()))
    })?;
    // SAFETY: no arguments.
    match u32::try_from(unsafe { libc::sched_getcpu() }) {
        Ok(now) if now != cpu => Err(refused(format!("a thread pinned to it runs on CPU {now}"))),
        _ => Ok(()),
    }
}
