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

/// A function that runs one instruction over and over, each time on the result before it.
macro_rules! chain {
    ($(#[$documentation:meta])* $name:ident, $step:literal) => {
        $(#[$documentation])*
        #[inline(never)]
        pub(crate) fn $name(blocks: u64) {
            // SAFETY: registers only.
            unsafe {
                asm!(
                    "2:",
                    ".rept 64",
                    $step,
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
    };
}

chain!(
    /// `64 * blocks` additions, each of which needs the sum before it.
    additions,
    "add {sum}, {sum}, {term}"
);
chain!(
    /// `64 * blocks` exclusive-ors, each of which needs the result before it.
    exclusive_ors,
    "eor {sum}, {sum}, {term}"
);
