//! Chains of instructions, each of which needs the result before it.

use std::arch::asm;

use crate::architecture::by_architecture;

/// A function that runs one instruction over and over.
macro_rules! chain {
    ($(#[$documentation:meta])* $name:ident, $step:expr) => {
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
                    by_architecture!("dec {blocks}", "subs {blocks}, {blocks}, #1"),
                    by_architecture!("jnz 2b", "b.ne 2b"),
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
    /// `64 * blocks` additions.
    additions,
    by_architecture!("add {sum}, {term}", "add {sum}, {sum}, {term}")
);
chain!(
    /// `64 * blocks` exclusive-ors.
    exclusive_ors,
    by_architecture!("xor {sum}, {term}", "eor {sum}, {sum}, {term}")
);
