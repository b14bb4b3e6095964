//! 64-bit ARM: Linux lets user mode clean and invalidate (SCTLR_EL1.UCI).

use std::arch::asm;
use std::ptr::NonNull;

use super::{LINE, LineOperation};

/// The first also removes.
pub(super) const OPERATIONS: &[LineOperation] = &[
    LineOperation { name: "DC CIVAC", present: || true, act: civac },
    LineOperation { name: "DC CVAC", present: || true, act: cvac },
];

/// Writes back and removes.
///
/// # Safety
/// The bytes are mapped.
unsafe fn civac(start: NonNull<u8>, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        // SAFETY: within the bytes that the caller promises; no contents change.
        unsafe {
            asm!("dc civac, {}", in(reg) start.as_ptr().add(offset), options(nostack, preserves_flags))
        };
    }
}

/// Writes back.
///
/// # Safety
/// The bytes are mapped.
unsafe fn cvac(start: NonNull<u8>, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        // SAFETY: within the bytes that the caller promises; no contents change.
        unsafe { asm!("dc cvac, {}", in(reg) start.as_ptr().add(offset), options(nostack, preserves_flags)) };
    }
}
