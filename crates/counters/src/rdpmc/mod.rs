//! The instruction that reads a hardware counter in user mode, and the protocol around it.
//!
//! The protocol is the kernel's (linux/perf_event.h, `struct perf_event_mmap_page`): read the page's sequence lock,
//! the counter's number and the offset, read the counter, extend its sign from `pmc_width` bits, add, and begin again
//! if the lock has changed.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

pub(crate) use arch::{CONFIG1, HOW_TO_PERMIT, INSTRUCTION, counter, exit, fence, protocol};
