//! At a distance from FS.

use std::arch::asm;

#[inline(always)]
pub fn address() -> *mut u8 {
    let address;
    // SAFETY: reads the thread's register and the distance, which don't change while the thread lives.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + coho_openmp_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, nomem, nostack),
        );
    }
    address
}
