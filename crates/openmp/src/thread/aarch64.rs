//! At a distance from TPIDR_EL0 that the dynamic linker finds out when it loads the library.

use std::arch::{asm, global_asm};

pub const BYTES: usize = 16;

global_asm!(
    ".pushsection .tbss.coho_openmp_thread, \"awT\", %nobits",
    ".p2align 4",
    ".hidden coho_openmp_thread",
    ".globl coho_openmp_thread",
    ".type coho_openmp_thread, %object",
    ".size coho_openmp_thread, {bytes}",
    "coho_openmp_thread:",
    ".zero {bytes}",
    ".popsection",
    bytes = const BYTES,
);

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
