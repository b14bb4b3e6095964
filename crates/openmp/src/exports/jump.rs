//! Jumps that leave the caller's arguments and return address as they are.

/// The body of an exported function: it jumps to its target, or asks which function this call means.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($aim:path, $number:path) => {
        coho_preload::jump! {
            before: ["mov r11, qword ptr [rip + {aim}]", "test r11, r11", "jz 2f", "jmp r11"],
            arguments: ["mov edi, {number}", "mov rsi, qword ptr [rsp + 184]"],
            ask: $crate::exports::jump::meant,
            aim = sym $aim,
            number = const $number,
        }
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($aim:path, $number:path) => {
        coho_preload::jump! {
            before: ["adrp x16, {aim}", "ldr x16, [x16, #:lo12:{aim}]", "cbz x16, 2f", "br x16"],
            arguments: ["mov x0, #{number}", "mov x1, x30"],
            ask: $crate::exports::jump::meant,
            aim = sym $aim,
            number = const $number,
        }
    };
}

pub(super) use jump;

/// Called while the arguments of an exported function are saved, with its place in the table and the address of the
/// call.
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
