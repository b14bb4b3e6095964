//! Entering the kernel without the C library (no errno, no cancellation point), and prefetching cache lines.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{prefetch, system_call};
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
pub(crate) use other::{prefetch, system_call};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{prefetch, system_call};
