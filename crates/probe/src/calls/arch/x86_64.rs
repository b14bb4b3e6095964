//! x86-64.

use std::arch::asm;

/// Enters the kernel by the instruction itself; a failure is the negative error number.
///
/// # Safety
/// As for the system call of that number.
#[inline(always)]
pub(in crate::calls) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes rcx and r11 alone; what it does with memory is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// stat(2): takes the file's path and where to write the result.
///
/// # Safety
/// The path ends with a zero; `to` has room for a `struct stat`.
#[inline(always)]
pub(in crate::calls) unsafe fn stat(path: *const libc::c_char, to: *mut libc::stat) -> isize {
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_stat, [path as usize, to as usize, 0, 0, 0, 0]) }
}

/// open(2).
///
/// # Safety
/// The path ends with a zero.
#[inline(always)]
pub(in crate::calls) unsafe fn open(path: *const libc::c_char, flags: libc::c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_open, [path as usize, flags as usize, 0, 0, 0, 0]) }
}

/// One instruction that does nothing.
pub(in crate::calls) const NOP: &[u8] = &[0x90];
/// Return to the caller.
pub(in crate::calls) const RETURN: &[u8] = &[0xc3];

/// A jump over `distance` bytes, counted from its own first byte.
pub(in crate::calls) fn jump(distance: i32) -> Vec<u8> {
    // The CPU counts from the end of the instruction, which has 5 bytes.
    let mut code = vec![0xe9];
    code.extend((distance - 5).to_le_bytes());
    code
}

/// Makes written instructions visible to the fetching of instructions: nothing to do here.
pub(in crate::calls) fn publish(_code: *const u8, _bytes: usize) {}

/// Follows this many links, each the address of the next, starting at `line`; returns where it ends.
///
/// # Safety
/// This many links are mapped.
#[inline(always)]
pub(in crate::calls) unsafe fn follow(mut line: *const u8, links: usize) -> *const u8 {
    // SAFETY: the caller's promise; only registers are changed. Written out so that every build runs the same loop.
    unsafe {
        asm!(
            "2:",
            "mov {line}, [{line}]",
            "sub {left}, 1",
            "jnz 2b",
            line = inout(reg) line,
            left = inout(reg) links => _,
            options(nostack, readonly),
        );
    }
    line
}

/// Loads a word of each of this many lines of 64 bytes, one after the other.
///
/// # Safety
/// They are mapped, and there is at least one.
#[inline(always)]
pub(in crate::calls) unsafe fn load(line: *const u8, lines: usize) {
    // SAFETY: the caller's promise; only registers are changed.
    unsafe {
        asm!(
            "2:",
            "mov {word}, [{line}]",
            "add {line}, 64",
            "sub {left}, 1",
            "jnz 2b",
            word = out(reg) _,
            line = inout(reg) line => _,
            left = inout(reg) lines => _,
            options(nostack, readonly),
        );
    }
}
