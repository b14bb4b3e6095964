//! Functions that jump to another one with their caller's arguments and return address as they are, whatever these are.

/// The body of a naked function that asks for an address and jumps there: `arguments` are instructions that put the arguments
/// of `ask` into place, an `extern "C"` function that returns the address; `before` come before those, and may jump by
/// themselves, or to `2` to ask. Both may use the operands of `naked_asm` that follow.
///
/// Where `arguments` stand, the return address is in `[rsp + 184]` on x86-64, and in `x30` on 64-bit ARM. `before` may use
/// `r11` or `x16`.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! jump {
    (before: [$($before:literal),*], arguments: [$($argument:literal),+], ask: $ask:path, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "endbr64",
            $($before,)*
            "2:",
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "push rax",
            "sub rsp, 128",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            $($argument,)+
            "call {ask}",
            "mov r11, rax",
            "movups xmm0, [rsp]",
            "movups xmm1, [rsp + 16]",
            "movups xmm2, [rsp + 32]",
            "movups xmm3, [rsp + 48]",
            "movups xmm4, [rsp + 64]",
            "movups xmm5, [rsp + 80]",
            "movups xmm6, [rsp + 96]",
            "movups xmm7, [rsp + 112]",
            "add rsp, 128",
            "pop rax",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "jmp r11",
            ask = sym $ask,
            $($operands)*
        )
    };
}

/// The body of a naked function that asks for an address and jumps there: `arguments` are instructions that put the arguments
/// of `ask` into place, an `extern "C"` function that returns the address; `before` come before those, and may jump by
/// themselves, or to `2` to ask. Both may use the operands of `naked_asm` that follow.
///
/// Where `arguments` stand, the return address is in `[rsp + 184]` on x86-64, and in `x30` on 64-bit ARM. `before` may use
/// `r11` or `x16`.
#[cfg(target_arch = "aarch64")]
#[macro_export]
macro_rules! jump {
    (before: [$($before:literal),*], arguments: [$($argument:literal),+], ask: $ask:path, $($operands:tt)*) => {
        core::arch::naked_asm!(
            $($before,)*
            "2:",
            "stp x29, x30, [sp, #-224]!",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "str x8, [sp, #80]",
            "stp q0, q1, [sp, #96]",
            "stp q2, q3, [sp, #128]",
            "stp q4, q5, [sp, #160]",
            "stp q6, q7, [sp, #192]",
            $($argument,)+
            "bl {ask}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldr x8, [sp, #80]",
            "ldp q0, q1, [sp, #96]",
            "ldp q2, q3, [sp, #128]",
            "ldp q4, q5, [sp, #160]",
            "ldp q6, q7, [sp, #192]",
            "ldp x29, x30, [sp], #224",
            "br x16",
            ask = sym $ask,
            $($operands)*
        )
    };
}
