//! x86-64: CLFLUSH everywhere, CLFLUSHOPT and CLWB where CPUID says so.

use std::arch::asm;
use std::ptr::NonNull;
use std::sync::LazyLock;

use raw_cpuid::CpuId;

use super::{LINE, LineOperation};

/// In the order in which CPUs got them.
pub(super) const OPERATIONS: &[LineOperation] = &[
    LineOperation { name: "CLFLUSH", present: || true, act: clflush },
    LineOperation { name: "CLFLUSHOPT", present: || HAS.0, act: clflushopt },
    LineOperation { name: "CLWB", present: || HAS.1, act: clwb },
];

/// CPUID is slow under a hypervisor: CLFLUSHOPT, CLWB.
static HAS: LazyLock<(bool, bool)> = LazyLock::new(|| {
    CpuId::new()
        .get_extended_feature_info()
        .map_or((false, false), |features| (features.has_clflushopt(), features.has_clwb()))
});

macro_rules! each_line {
    ($(#[$doc:meta])* $name:ident: $instruction:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The bytes are mapped, and the CPU has the instruction.
        unsafe fn $name(start: NonNull<u8>, bytes: usize) {
            for offset in (0..bytes).step_by(LINE) {
                // SAFETY: within the bytes that the caller promises; no contents change.
                unsafe { asm!($instruction, in(reg) start.as_ptr().add(offset), options(nostack, preserves_flags)) };
            }
        }
    };
}

each_line! {
    /// Writes back and removes, one line after the other.
    clflush: "clflush byte ptr [{}]"
}
each_line! {
    /// Writes back and removes, in any order.
    clflushopt: "clflushopt byte ptr [{}]"
}
each_line! {
    /// Writes back; the CPU may keep the line.
    clwb: "clwb byte ptr [{}]"
}
