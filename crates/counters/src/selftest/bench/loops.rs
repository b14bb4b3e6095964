//! The loops whose loads and stores are known.

use std::arch::asm;
use std::ptr::NonNull;

use super::Word;
use crate::architecture::by_architecture;

/// Follows `steps` pointers, at least one: three instructions each.
///
/// # Safety
/// `start` and every word that is reached must hold a pointer to such a word.
#[inline(never)]
pub(super) unsafe fn chase(start: Word, steps: u64) -> Word {
    let end: *mut u8;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "2:",
            by_architecture!("mov {at}, [{at}]", "ldr {at}, [{at}]"),
            by_architecture!("dec {steps}", "subs {steps}, {steps}, #1"),
            by_architecture!("jnz 2b", "b.ne 2b"),
            at = inout(reg) start.as_ptr() => end,
            steps = inout(reg) steps.max(1) => _,
            options(nostack, readonly),
        );
        NonNull::new_unchecked(end)
    }
}

/// Stores `count` words, at least one, round and round over `bytes`: five instructions each.
///
/// # Safety
/// `bytes`, a power of two of at least 8, must be writable at `start`.
#[inline(never)]
pub(super) unsafe fn stores(start: Word, bytes: usize, count: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "2:",
            by_architecture!("mov [{start} + {at}], {count}", "str {count}, [{start}, {at}]"),
            by_architecture!("add {at}, 8", "add {at}, {at}, #8"),
            by_architecture!("and {at}, {mask}", "and {at}, {at}, {mask}"),
            by_architecture!("dec {count}", "subs {count}, {count}, #1"),
            by_architecture!("jnz 2b", "b.ne 2b"),
            start = in(reg) start.as_ptr(),
            at = inout(reg) 0usize => _,
            mask = in(reg) bytes - 1,
            count = inout(reg) count.max(1) => _,
            options(nostack),
        );
    }
}
