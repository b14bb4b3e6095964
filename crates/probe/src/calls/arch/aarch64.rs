//! AArch64.

use std::arch::asm;

/// Enters the kernel by the instruction itself; a failure is the negative error number.
///
/// # Safety
/// As for the system call of that number.
#[inline(always)]
pub(in crate::calls) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes x0 alone; what it does with memory is the caller's promise.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") arguments[0] => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    result
}

/// The kernel has no stat(2) here; newfstatat(2) relative to the working directory does the same.
///
/// # Safety
/// The path ends with a zero; `to` has room for a `struct stat`.
#[inline(always)]
pub(in crate::calls) unsafe fn stat(path: *const libc::c_char, to: *mut libc::stat) -> isize {
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_newfstatat, [HERE, path as usize, to as usize, 0, 0, 0]) }
}

/// The kernel has no open(2) here; openat(2) relative to the working directory does the same.
///
/// # Safety
/// The path ends with a zero.
#[inline(always)]
pub(in crate::calls) unsafe fn open(path: *const libc::c_char, flags: libc::c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_openat, [HERE, path as usize, flags as usize, 0, 0, 0]) }
}

const HERE: usize = libc::AT_FDCWD as isize as usize;

/// One instruction that does nothing.
pub(in crate::calls) const NOP: &[u8] = &0xd503_201f_u32.to_le_bytes();
/// Return to the caller.
pub(in crate::calls) const RETURN: &[u8] = &0xd65f_03c0_u32.to_le_bytes();

/// A jump over `distance` bytes, counted from its own first byte.
pub(in crate::calls) fn jump(distance: i32) -> Vec<u8> {
    let words = (distance / 4) as u32 & 0x03ff_ffff;
    (0x1400_0000 | words).to_le_bytes().to_vec()
}

/// Makes written instructions visible to the fetching of instructions.
pub(in crate::calls) fn publish(code: *const u8, bytes: usize) {
    // The smallest line that an implementation may have is 16 bytes; cleaning one twice does no harm.
    for offset in (0..bytes).step_by(16) {
        // SAFETY: the range is mapped, and Linux lets user mode clean and invalidate (SCTLR_EL1.UCI).
        unsafe { asm!("dc cvau, {}", in(reg) code.add(offset), options(nostack)) };
    }
    // SAFETY: a barrier only.
    unsafe { asm!("dsb ish", options(nostack)) };
    for offset in (0..bytes).step_by(16) {
        // SAFETY: as above.
        unsafe { asm!("ic ivau, {}", in(reg) code.add(offset), options(nostack)) };
    }
    // SAFETY: barriers only.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}

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
            "ldr {line}, [{line}]",
            "subs {left}, {left}, #1",
            "b.ne 2b",
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
            "ldr {word}, [{line}]",
            "add {line}, {line}, #64",
            "subs {left}, {left}, #1",
            "b.ne 2b",
            word = out(reg) _,
            line = inout(reg) line => _,
            left = inout(reg) lines => _,
            options(nostack, readonly),
        );
    }
}
