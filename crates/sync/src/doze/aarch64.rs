//! WFE: an exclusive load watches the line, and a write to it is an event.

use std::arch::asm;
use std::sync::atomic::AtomicU8;

pub(crate) fn can_doze() -> bool {
    true
}

/// Waits for a write to the line, or for the kernel's event stream (10 kHz), or for nothing; not at all once `done`.
pub(crate) fn doze(line: &AtomicU8, done: &dyn Fn() -> bool) {
    // SAFETY: the line is borrowed, so it can be read; the load only sets the monitor.
    unsafe { asm!("ldxrb wzr, [{line}]", line = in(reg) line.as_ptr(), options(nostack, readonly)) };
    if !done() {
        // SAFETY: no operands; any event ends it, and a missed one costs at most the event stream's period.
        unsafe { asm!("wfe", options(nostack, nomem)) };
    }
}
