//! The virtual counter-timer.

use std::arch::asm;

use super::Source;

pub(super) fn source() -> Source {
    Source::Counter("CNTVCT_EL0")
}

#[inline(always)]
pub(super) fn counter() -> u64 {
    let now: u64;
    // SAFETY: Linux lets user mode read the virtual counter; ISB keeps the reading in program order.
    unsafe { asm!("dsb ish", "isb", "mrs {}, cntvct_el0", "isb", out(reg) now, options(nostack)) };
    now
}

/// `64 * blocks` additions, each of which needs the sum before it.
#[inline(never)]
pub(super) fn additions(blocks: u64) {
    // SAFETY: registers only.
    unsafe {
        asm!(
            "2:",
            ".rept 64",
            "add {sum}, {sum}, {term}",
            ".endr",
            "subs {blocks}, {blocks}, #1",
            "b.ne 2b",
            sum = inout(reg) 1u64 => _,
            term = in(reg) 3u64,
            blocks = inout(reg) blocks.max(1) => _,
            options(nomem, nostack),
        );
    }
}

/// `64 * blocks` exclusive-ors, each of which needs the result before it.
#[inline(never)]
pub(super) fn exclusive_ors(blocks: u64) {
    // SAFETY: registers only.
    unsafe {
        asm!(
            "2:",
            ".rept 64",
            "eor {sum}, {sum}, {term}",
            ".endr",
            "subs {blocks}, {blocks}, #1",
            "b.ne 2b",
            sum = inout(reg) 1u64 => _,
            term = in(reg) 3u64,
            blocks = inout(reg) blocks.max(1) => _,
            options(nomem, nostack),
        );
    }
}
