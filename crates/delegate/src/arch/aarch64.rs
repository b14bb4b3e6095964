//! SVC.

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
            "svc 0",
            in("x8") number as usize,
            inlateout("x0") a => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        );
    }
    result
}

/// Prefetches the line at an address, which need not be readable.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    // SAFETY: a hint.
    unsafe { asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags)) };
}
