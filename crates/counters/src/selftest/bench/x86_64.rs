//! The work's instructions.

use std::arch::x86_64::{_mm_clflush, _mm_mfence};

use super::Word;

pub(super) const NOP: [u8; 1] = [0x90];
pub(super) const RETURN: [u8; 1] = [0xc3];

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
