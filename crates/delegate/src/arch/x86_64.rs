//! SYSCALL.

use std::arch::asm;

/// Returns what the kernel returns: a negative number from -4095 on is an error.
///
/// # Safety
/// As the call's.
#[inline(always)]
pub(crate) unsafe fn system_call(number: u32, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel's convention; what the call does is the caller's matter.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as usize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Prefetches the line at an address, which need not be readable.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    // SAFETY: a hint.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast()) };
}
