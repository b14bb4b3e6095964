//! The time-stamp counter.

use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

use super::Source;

/// Whether CPUID calls the counter invariant.
pub(super) fn invariant() -> bool {
    // CPUID leaves 0x80000000 and 0x80000007 exist on every x86-64 CPU or read as zero; CPUID is unprivileged.
    #[allow(unused_unsafe)]
    // SAFETY: as above.
    unsafe {
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx >> 8 & 1 == 1
    }
}

/// Whether the counter may be trusted: CPUID says it is invariant, or the kernel itself has chosen it.
pub(super) fn source() -> Source {
    const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    if invariant() || std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|name| name.trim() == "tsc") {
        Source::Counter("RDTSC")
    } else {
        Source::System("CPUID does not call the time-stamp counter invariant and the kernel does not use it")
    }
}

#[inline(always)]
pub(super) fn counter() -> u64 {
    // SAFETY: LFENCE and RDTSC exist on every x86-64 CPU; Linux lets user mode read the counter unless the process has
    // forbidden itself to by prctl.
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}
