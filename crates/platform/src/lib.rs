//! What the host allows a process, and what it takes away: CPUs and affinity, control groups, memory, stolen time,
//! folders for scratch files and state, and signals that ask for an end.
//!
//! Everything works with less than a whole system: without `/proc/meminfo` or `/sys`, in a container, with each version
//! of control groups, and as an ordinary user. What the host does not say is `None` or an error, never a guess.
#![warn(missing_docs)]

#[cfg(target_os = "linux")]
pub mod cgroup;
mod cpuset;
#[cfg(target_os = "linux")]
pub mod file_limit;
#[cfg(target_os = "linux")]
pub mod filesystem;
pub mod identity;
pub mod kept;
#[cfg(target_os = "linux")]
pub mod memory;
pub mod pin;
#[cfg(target_os = "linux")]
pub mod scratch;
pub mod state;
#[cfg(target_os = "linux")]
pub mod stolen;
pub mod stop;
pub mod threads;
pub mod trust;

pub use cpuset::{CpuSet, InvalidCpus, MAX_CPUS};
