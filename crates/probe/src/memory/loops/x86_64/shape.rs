//! The shape of all loops: whole steps, unrolled, then single bytes.
//!
//! By the calling convention `rdi` is the destination, `rsi` the source, `rdx` the size and `rcx` the value; every
//! register that is used here belongs to the called function.

/// Assembly lines, one (or one pair) for each displacement.
macro_rules! at {
    ([$($at:literal)*] $a:literal $b:literal) => { concat!($($a, $at, $b, "\n"),*) };
    ([$($at:literal)*] $a:literal $b:literal $c:literal) => { concat!($($a, $at, $b, $at, $c, "\n"),*) };
}

/// A loop: its prologue, one step of a number of bytes, how the pointers advance, one byte of the rest, the end.
macro_rules! block_loop {
    (
        $(#[$doc:meta])* $name:ident: $begin:expr;
        each $step:literal: $body:expr; $advance:expr; rest $rest:expr; $end:expr
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(to: *mut u8, from: *const u8, bytes: usize, value: u64) {
            std::arch::naked_asm!(
                $begin,
                "mov rax, rdx",
                "and edx, {rest}",
                "shr rax, {shift}",
                "jz 3f",
                ".p2align 5",
                "2:",
                $body,
                $advance,
                "dec rax",
                "jnz 2b",
                "3:",
                "test edx, edx",
                "jz 5f",
                "4:",
                $rest,
                "dec edx",
                "jnz 4b",
                "5:",
                $end,
                "ret",
                rest = const $step - 1,
                shift = const ($step as u32).ilog2(),
            )
        }
    };
}

macro_rules! write_loop {
    ($(#[$doc:meta])* $name:ident: $begin:expr; each $step:literal: $body:expr; $end:expr) => {
        block_loop! {
            $(#[$doc])* $name: $begin;
            each $step: $body; concat!("add rdi, ", $step);
            rest "mov byte ptr [rdi], cl\ninc rdi"; $end
        }
    };
}

macro_rules! read_loop {
    ($(#[$doc:meta])* $name:ident: $begin:expr; each $step:literal: $body:expr; $end:expr) => {
        block_loop! {
            $(#[$doc])* $name: $begin;
            each $step: $body; concat!("add rsi, ", $step);
            rest "movzx r8d, byte ptr [rsi]\ninc rsi"; $end
        }
    };
}

macro_rules! copy_loop {
    ($(#[$doc:meta])* $name:ident: $begin:expr; each $step:literal: $body:expr; $end:expr) => {
        block_loop! {
            $(#[$doc])* $name: $begin;
            each $step: $body; concat!("add rsi, ", $step, "\nadd rdi, ", $step);
            rest "movzx r8d, byte ptr [rsi]\nmov byte ptr [rdi], r8b\ninc rsi\ninc rdi"; $end
        }
    };
}

/// Before a loop that reads through PREFETCHNTA: prefetches the first 512 bytes, or as many as there are, and puts into
/// `r9` where the last whole step begins.
macro_rules! first_ahead {
    ($step:literal) => {
        concat!(
            "lea r9, [rsi + rdx - 1]\n",
            "lea r10, [rsi + 511]\n",
            "cmp r10, r9\n",
            "cmova r10, r9\n",
            "mov r8, rsi\n",
            "jmp 7f\n",
            "6:\n",
            "prefetchnta byte ptr [r8]\n",
            "add r8, 64\n",
            "7:\n",
            "cmp r8, r10\n",
            "jbe 6b\n",
            "lea r9, [rsi + rdx - ",
            $step,
            "]"
        )
    };
}

/// In such a loop: prefetches the lines of the step that is 512 bytes ahead, never a line outside the block.
macro_rules! ahead {
    ([$($line:literal)*]) => {
        concat!(
            "lea r8, [rsi + 512]\ncmp r8, r9\ncmova r8, r9\n",
            $("prefetchnta byte ptr [r8 + ", $line, "]\n"),*
        )
    };
}
