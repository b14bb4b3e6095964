//! Jumps that leave the caller's arguments and return address as they are.

/// What an exported function does: it jumps to where it is aimed at, or asks whom this call is for.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($aim:path, $number:path) => {
        core::arch::naked_asm!(
            "endbr64",
            "mov r11, qword ptr [rip + {aim}]",
            "test r11, r11",
            "jz 2f",
            "jmp r11",
            "2:",
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "push rax",
            "mov edi, {number}",
            "mov rsi, qword ptr [rsp + 56]",
            "call {meant}",
            "mov r11, rax",
            "pop rax",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "jmp r11",
            aim = sym $aim,
            number = const $number,
            meant = sym $crate::exports::jump::meant,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($aim:path, $number:path) => {
        core::arch::naked_asm!(
            "adrp x16, {aim}",
            "ldr x16, [x16, #:lo12:{aim}]",
            "cbz x16, 2f",
            "br x16",
            "2:",
            "stp x29, x30, [sp, #-80]!",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "mov x0, #{number}",
            "mov x1, x30",
            "bl {meant}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldp x29, x30, [sp], #80",
            "br x16",
            aim = sym $aim,
            number = const $number,
            meant = sym $crate::exports::jump::meant,
        )
    };
}

pub(super) use jump;

/// Called with the arguments of an exported function put by: its place in the table, and where it was called.
pub(super) extern "C" fn meant(at: usize, caller: usize) -> *mut std::ffi::c_void {
    super::meant(at, caller)
}

/// The C library's `dlopen`, once what it opens is to be looked through. It is jumped to, so that it sees who calls: it
/// looks in that one's paths.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {begin}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        begin = sym begin_opening,
    )
}

/// The C library's `dlopen`, once what it opens is to be looked through. It is jumped to, so that it sees who calls: it
/// looks in that one's paths.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
#[cfg(target_arch = "aarch64")]
pub unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {begin}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        begin = sym begin_opening,
    )
}

extern "C" fn begin_opening() -> *mut std::ffi::c_void {
    crate::openings::begin();
    super::real::dlopen()
}
