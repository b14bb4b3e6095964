//! What the host is and what it allows a process: its facts, CPUs and affinity, control groups, memory and pages, other
//! load and stolen time, folders for scratch files and state, and signals that ask for an end.
//!
//! Everything works with less than a whole system: without `/proc/meminfo` or `/sys`, in a container, with each version
//! of control groups, and as an ordinary user. What the host does not say is `None` or an error, never a guess.
//!
//! ```
//! use coho_platform::pin;
//!
//! let cpus = pin::allowed()?;
//! println!("this thread may run on CPUs {cpus}, with {} bytes of memory", coho_platform::memory::room());
//! # Ok::<(), pin::Error>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

#[cfg(target_os = "linux")]
pub mod cgroup;
mod cpuset;
#[cfg(target_os = "linux")]
pub mod file_limit;
#[cfg(target_os = "linux")]
pub mod filesystem;
#[cfg(target_os = "linux")]
pub mod host;
pub mod identity;
pub mod kept;
#[cfg(target_os = "linux")]
pub mod load;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod pages;
pub mod pin;
#[cfg(target_os = "linux")]
pub mod room;
#[cfg(target_os = "linux")]
pub mod scratch;
#[cfg(target_os = "linux")]
pub mod share;
#[cfg(target_os = "linux")]
mod stat;
pub mod state;
#[cfg(target_os = "linux")]
pub mod stolen;
pub mod stop;
pub mod threads;
#[cfg(target_os = "linux")]
pub mod timer;
pub mod trust;

pub use cpuset::{CpuSet, InvalidCpus, MAX_CPUS};
