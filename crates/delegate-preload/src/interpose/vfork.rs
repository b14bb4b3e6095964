//! `vfork`. The child has its parent's memory, so also what the library knows, but descriptors of its own: until it is gone, the
//! thread makes its calls itself.
//!
//! The kernel is entered here, with the return address out of the child's reach: it returns into what called, and lets its
//! parent have the stack that it has used since. If another library stands before the C library's `vfork`, that is
//! jumped to, and the program makes its calls itself from then on.

use std::ffi::c_void;
use std::ptr;

use libc::c_int;

use super::give;
use crate::others::owner;
use crate::real::of;
use crate::state::{AtHome, stay_at_home};
use crate::write_queue::drain;
use crate::{cpus, ending};

#[unsafe(no_mangle)]
#[unsafe(naked)]
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        "endbr64",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "test rax, rax",
        "jnz 3f",
        "pop rdi",
        "mov eax, {number}",
        "syscall",
        "push rdi",
        "test eax, eax",
        "jz 2f",
        "mov rdi, rax",
        "sub rsp, 8",
        "call {after}",
        "add rsp, 8",
        "2:",
        "ret",
        "3:",
        "jmp rax",
        before = sym before,
        number = const libc::SYS_vfork,
        after = sym after,
    )
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
#[cfg(target_arch = "aarch64")]
unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "mov x16, x0",
        "ldp x29, x30, [sp], #16",
        "cbnz x16, 3f",
        "mov x0, #{flags}",
        "mov x1, #0",
        "mov x2, #0",
        "mov x3, #0",
        "mov x4, #0",
        "mov x8, #{number}",
        "svc #0",
        "cbz x0, 2f",
        "stp x29, x30, [sp, #-16]!",
        "bl {after}",
        "ldp x29, x30, [sp], #16",
        "2:",
        "ret",
        "3:",
        "br x16",
        before = sym before,
        flags = const libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
        number = const libc::SYS_clone,
        after = sym after,
    )
}

/// Returns another library's function, or null.
extern "C" fn before() -> *mut c_void {
    drain();
    cpus::give_back();
    let next = of::vfork.found();
    if owner(next).is_some() {
        ending::end("vfork, which another library takes");
        return next;
    }
    stay_at_home(AtHome::Vforked, true);
    ptr::null_mut()
}

/// In the parent, once the child is gone, or if there is none.
extern "C" fn after(answer: isize) -> c_int {
    stay_at_home(AtHome::Vforked, false);
    give(answer) as c_int
}
