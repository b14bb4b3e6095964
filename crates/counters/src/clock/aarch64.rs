//! The virtual counter-timer.

use std::arch::asm;

use super::Source;

pub(super) fn source() -> Source {
    Source::Counter("CNTVCT_EL0")
}

/// The architecture demands it.
pub(super) fn invariant() -> bool {
    true
}

#[inline(always)]
pub(super) fn counter() -> u64 {
    let now: u64;
    // SAFETY: Linux lets user mode read the virtual counter; ISB keeps the reading in program order.
    unsafe { asm!("dsb ish", "isb", "mrs {}, cntvct_el0", "isb", out(reg) now, options(nostack)) };
    now
}
