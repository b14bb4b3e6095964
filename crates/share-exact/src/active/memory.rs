//! The C library's functions that copy and fill memory, which compilers call in place of accesses of the program's own.
//!
//! Here lies what takes their place in every library of the program, so nothing in this file may be compiled to a call of
//! them.

use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_void};

use coho_recording::Access;

use super::begin::process;
use super::thread::{self, this};

/// The functions that do it.
mod next {
    coho_preload::next_functions! { memmove memset }
}

/// Looks for them, as the library is loaded. Before that, instructions do their work.
pub fn look_up_all() {
    coho_preload::look_up_all(next::ALL);
}

/// Copies bytes that may overlap.
///
/// # Safety
/// As `memmove`.
unsafe fn copied(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    let function = next::memmove.found();
    // SAFETY: the caller's promises are handed on; a found function is that of this name.
    unsafe {
        if !function.is_null() {
            type Function = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
            return std::mem::transmute::<*mut c_void, Function>(function)(to, from, bytes);
        }
        if (to as usize).wrapping_sub(from as usize) >= bytes {
            asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
        } else {
            let last = bytes.wrapping_sub(1);
            asm!("std", "rep movsb", "cld", inout("rcx") bytes => _, inout("rdi") to.byte_add(last) => _,
                inout("rsi") from.byte_add(last) => _, options(nostack));
        }
    }
    to
}

/// Fills bytes.
///
/// # Safety
/// As `memset`.
unsafe fn filled(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void {
    let function = next::memset.found();
    // SAFETY: as above.
    unsafe {
        if !function.is_null() {
            type Function = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
            return std::mem::transmute::<*mut c_void, Function>(function)(to, value, bytes);
        }
        asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") to => _, in("al") value as u8,
            options(nostack, preserves_flags));
    }
    to
}

/// Has accesses of a call counted, unless coho's libraries make it.
fn count(returns_to: u64, count: impl FnOnce(u64)) {
    let is_own = process().is_none_or(|process| process.is_own(returns_to));
    let this = this();
    if !is_own && !this.is_own.replace(true) {
        count(returns_to.wrapping_sub(1));
        this.is_own.set(false);
    }
}

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    returns_to: u64,
) -> *mut c_void {
    count(returns_to, |call| {
        thread::access_lines(call, from as usize, bytes, Access::Read);
        thread::access_lines(call, to as usize, bytes, Access::Write);
    });
    // SAFETY: the program's own call.
    unsafe { copied(to, from, bytes) }
}

unsafe extern "C" fn fill(to: *mut c_void, value: c_int, bytes: usize, returns_to: u64) -> *mut c_void {
    count(returns_to, |call| thread::access_lines(call, to as usize, bytes, Access::Write));
    // SAFETY: the program's own call.
    unsafe { filled(to, value, bytes) }
}

/// Functions that hand on where they return to, in the register after their first three arguments'. A fourth, of the
/// functions that compilers call where they know how much room there is, is looked at before.
macro_rules! from_there {
    ($($name:ident, $instrumented:ident, $checked:ident => $inner:path;)+) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!("endbr64", "mov rcx, [rsp]", "jmp {inner}", inner = sym $inner)
        }

        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $instrumented() {
            naked_asm!("endbr64", "mov rcx, [rsp]", "jmp {inner}", inner = sym $inner)
        }

        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $checked() {
            naked_asm!(
                "endbr64",
                "cmp rcx, rdx",
                "jb {fail}",
                "mov rcx, [rsp]",
                "jmp {inner}",
                fail = sym too_little_room,
                inner = sym $inner,
            )
        }
    )+ };
}

/// What the C library does then.
extern "C" fn too_little_room() -> ! {
    unsafe extern "C" {
        fn __chk_fail() -> !;
    }
    // SAFETY: no arguments.
    unsafe { __chk_fail() }
}

from_there! {
    memcpy, __tsan_memcpy, __memcpy_chk => copy;
    memmove, __tsan_memmove, __memmove_chk => copy;
    memset, __tsan_memset, __memset_chk => fill;
}
