//! `lock inc`, `inc` and `lock xadd` on memory.

use std::arch::asm;
use std::sync::atomic::AtomicU64;

/// `n` (at least 1) locked increments; returns the line's value after the last, which is an XADD for that purpose.
#[inline(never)]
pub(crate) fn locked(line: &AtomicU64, n: u64) -> u64 {
    let mut value = 1u64;
    // SAFETY: the address is that of an atomic, the counter ends the loop, and only named registers change.
    unsafe {
        asm!(
            "dec {n}",
            "jz 3f",
            ".p2align 5",
            "2:",
            "lock inc qword ptr [{line}]",
            "dec {n}",
            "jnz 2b",
            "3:",
            "lock xadd qword ptr [{line}], {value}",
            line = in(reg) line.as_ptr(),
            n = inout(reg) n.max(1) => _,
            value = inout(reg) value,
            options(nostack),
        );
    }
    value + 1
}

/// `n` (at least 1) increments without the lock prefix, for a line that no other CPU uses.
#[inline(never)]
pub(crate) fn unlocked(line: &AtomicU64, n: u64) {
    // SAFETY: as above; increments may be lost if somebody else increments, but nothing is torn.
    unsafe {
        asm!(
            ".p2align 5",
            "2:",
            "inc qword ptr [{line}]",
            "dec {n}",
            "jnz 2b",
            line = in(reg) line.as_ptr(),
            n = inout(reg) n.max(1) => _,
            options(nostack),
        );
    }
}

/// `n` (at least 1) locked increments that check the value they find: returns how often it was not `last`, the value
/// that this CPU had left there, and updates `last`.
#[inline(never)]
pub(crate) fn locked_counting(line: &AtomicU64, n: u64, last: &mut u64) -> u64 {
    let mut changes = 0u64;
    // SAFETY: as above.
    unsafe {
        asm!(
            ".p2align 5",
            "2:",
            "mov {value}, 1",
            "lock xadd qword ptr [{line}], {value}",
            "xor {changed:e}, {changed:e}",
            "cmp {value}, {last}",
            "setne {changed:l}",
            "add {changes}, {changed}",
            "lea {last}, [{value} + 1]",
            "dec {n}",
            "jnz 2b",
            line = in(reg) line.as_ptr(),
            n = inout(reg) n.max(1) => _,
            last = inout(reg) *last,
            changes = inout(reg) changes,
            value = out(reg) _,
            changed = out(reg) _,
            options(nostack),
        );
    }
    changes
}
