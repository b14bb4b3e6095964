//! At a distance from TPIDR_EL0.

use std::arch::asm;

#[inline(always)]
pub fn address() -> *mut u8 {
    let address;
    // SAFETY: reads the thread's register and the distance, which don't change while the thread lives.
    unsafe {
        asm!(
            "mrs {0}, tpidr_el0",
            "adrp {1}, :gottprel:coho_openmp_thread",
            "ldr {1}, [{1}, :gottprel_lo12:coho_openmp_thread]",
            "add {0}, {0}, {1}",
            out(reg) address,
            out(reg) _,
            options(pure, nomem, nostack),
        );
    }
    address
}
