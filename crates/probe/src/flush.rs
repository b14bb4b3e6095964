//! Lines written back and removed from every cache.

use std::ptr::NonNull;

/// Removes a line from every cache; it is written back first if it was modified. Done once a [`fence`] has followed.
///
/// # Safety
/// The address is mapped.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn flush_line(line: NonNull<u8>) {
    // SAFETY: CLFLUSH exists on every x86-64 CPU, changes no contents, and the caller says that the address is mapped.
    unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr()) };
}

/// Waits until all loads, stores and flushes before it are done.
#[cfg(target_arch = "x86_64")]
pub(crate) fn fence() {
    // SAFETY: MFENCE exists on every x86-64 CPU.
    unsafe { std::arch::x86_64::_mm_mfence() };
}

/// Removes a line from every cache; it is written back first if it was modified. Done once a [`fence`] has followed.
///
/// # Safety
/// The address is mapped.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn flush_line(line: NonNull<u8>) {
    // SAFETY: cleaning changes no contents; Linux lets user mode do it (SCTLR_EL1.UCI); the caller says that the address is
    // mapped.
    unsafe { std::arch::asm!("dc civac, {}", in(reg) line.as_ptr(), options(nostack)) };
}

/// Waits until all loads, stores and flushes before it are done.
#[cfg(target_arch = "aarch64")]
pub(crate) fn fence() {
    // SAFETY: a barrier only.
    unsafe { std::arch::asm!("dsb sy", options(nostack)) };
}
