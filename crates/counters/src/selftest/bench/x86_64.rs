//! The work's instructions.

use std::arch::asm;
use std::arch::x86_64::{_mm_clflush, _mm_mfence};
use std::ptr::NonNull;

use super::Word;

pub(super) const NOP: [u8; 1] = [0x90];
pub(super) const RETURN: [u8; 1] = [0xc3];

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
            "mov {at}, [{at}]",
            "dec {steps}",
            "jnz 2b",
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
            "mov [{start} + {at}], {count}",
            "add {at}, 8",
            "and {at}, {mask}",
            "dec {count}",
            "jnz 2b",
            start = in(reg) start.as_ptr(),
            at = inout(reg) 0usize => _,
            mask = in(reg) bytes - 1,
            count = inout(reg) count.max(1) => _,
            options(nostack),
        );
    }
}

/// Takes a line out of all caches.
pub(super) fn flush(line: Word) {
    // SAFETY: CLFLUSH exists on every x86-64 CPU, changes no contents and faults on no readable address.
    unsafe { _mm_clflush(line.as_ptr()) };
}

/// Waits for all flushes.
pub(super) fn complete() {
    // SAFETY: MFENCE exists on every x86-64 CPU.
    unsafe { _mm_mfence() };
}

/// Makes written instructions visible to the fetch unit: on x86 they are.
pub(super) fn publish(_start: Word, _bytes: usize) {}
