//! The work's instructions.

use std::arch::asm;

use super::Word;

pub(super) const NOP: [u8; 4] = 0xd503_201f_u32.to_le_bytes();
pub(super) const RETURN: [u8; 4] = 0xd65f_03c0_u32.to_le_bytes();

/// Takes a line out of all caches up to the point of coherency.
pub(super) fn flush(line: Word) {
    // SAFETY: Linux lets user mode clean and invalidate lines of its own memory; no contents change.
    unsafe { asm!("dc civac, {}", in(reg) line.as_ptr(), options(nostack)) };
}

/// Waits for all flushes.
pub(super) fn complete() {
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack)) };
}

/// Makes written instructions visible to the fetch unit.
pub(super) fn publish(start: Word, bytes: usize) {
    // The smallest line that the architecture allows.
    const LINE: usize = 16;
    let each = |operation: fn(*mut u8)| {
        (0..bytes).step_by(LINE).for_each(|offset| operation(start.as_ptr().wrapping_add(offset)));
    };
    // SAFETY: cleaning a line of the caller's memory changes no contents; Linux allows it in user mode.
    each(|line| unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) });
    complete();
    // SAFETY: as above, for the instruction cache.
    each(|line| unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) });
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}
