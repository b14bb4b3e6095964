//! The C library's `vfork`, or `fork` where calls may be delegated: a child that shared its parent's memory would have its
//! parent's host act on the parent's descriptors. Either is jumped to, as both return into what called.

use std::ffi::c_void;

use crate::real::Real;
use crate::runtime;

/// Stands before the C library's function of this name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        "endbr64",
        "sub rsp, 8",
        "call {choose}",
        "add rsp, 8",
        "jmp rax",
        choose = sym choose,
    )
}

/// Stands before the C library's function of this name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
#[cfg(target_arch = "aarch64")]
pub unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {choose}",
        "mov x16, x0",
        "ldp x29, x30, [sp], #16",
        "br x16",
        choose = sym choose,
    )
}

extern "C" fn choose() -> *mut c_void {
    static FORK: Real = Real::new(c"fork");
    static VFORK: Real = Real::new(c"vfork");
    if runtime::is_on() { FORK.address() } else { VFORK.address() }
}
