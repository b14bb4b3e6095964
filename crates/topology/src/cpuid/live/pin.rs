//! The calling thread's place: which CPU it is on, which it may be on.

#[cfg(target_os = "linux")]
mod system {
    use std::io;

    use crate::{CpuSet, Error, MAX_CPUS};

    /// As many as any kernel's mask has words.
    const WORDS: usize = (MAX_CPUS / 64) as usize;

    fn failed(call: &str) -> Error {
        Error::new(format!("{call}: {}", io::Error::last_os_error()))
    }

    pub(in super::super) fn current_cpu() -> Result<u32, Error> {
        // SAFETY: the call has no arguments and touches no memory of ours.
        let cpu = unsafe { libc::sched_getcpu() };
        u32::try_from(cpu).map_err(|_| failed("sched_getcpu"))
    }

    pub(in super::super) fn affinity() -> Result<CpuSet, Error> {
        let mut words = [0u64; WORDS];
        // SAFETY: the kernel writes at most the given number of bytes into `words`, which lives through the call.
        let bytes =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&words), words.as_mut_ptr()) };
        if bytes < 0 {
            return Err(failed("sched_getaffinity"));
        }
        CpuSet::try_from_words(&words)
    }

    pub(in super::super) fn set_affinity(cpus: &CpuSet) -> Result<(), Error> {
        let words = cpus.words();
        // SAFETY: the kernel reads the given number of bytes from `words`, which lives through the call.
        let failure = unsafe { libc::sched_setaffinity(0, size_of_val(words), words.as_ptr().cast()) };
        if failure != 0 {
            return Err(failed(&format!("pinning to CPUs {cpus}: sched_setaffinity")));
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::{CpuSet, Error};

    fn unavailable() -> Error {
        Error::new("CPUID: pinning a thread to a CPU is not available on this operating system")
    }

    pub(in super::super) fn current_cpu() -> Result<u32, Error> {
        Err(unavailable())
    }

    pub(in super::super) fn affinity() -> Result<CpuSet, Error> {
        Err(unavailable())
    }

    pub(in super::super) fn set_affinity(_: &CpuSet) -> Result<(), Error> {
        Err(unavailable())
    }
}

use crate::{CpuSet, Error};
pub(super) use system::{affinity, current_cpu};

/// Pins the calling thread to one CPU.
pub(super) fn pin_to(cpu: u32) -> Result<(), Error> {
    system::set_affinity(&CpuSet::from_iter([cpu]))
}

/// The calling thread pinned to one CPU, and back where it was when this is dropped.
pub(super) struct PinnedTo {
    before: CpuSet,
}

impl PinnedTo {
    pub(super) fn new(cpu: u32) -> Result<Self, Error> {
        let before = affinity()?;
        pin_to(cpu)?;
        Ok(Self { before })
    }
}

impl Drop for PinnedTo {
    fn drop(&mut self) {
        // A cpuset that shrank meanwhile refuses; the thread then stays where the kernel put it.
        let _ = system::set_affinity(&self.before);
    }
}
