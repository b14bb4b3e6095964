//! The shape of all loops: whole steps, unrolled, then single bytes.
//!
//! By the calling convention `rdi` is the destination, `rsi` the source, `rdx` the size and `rcx` the value; every
//! register that is used here belongs to the called function.

/// A loop: its prologue, one step of a number of bytes, how the pointers advance, one byte of the rest, the end.
macro_rules! block_loop {
    ($name:ident: $begin:expr; each $step:literal: $body:expr; $advance:expr; rest $rest:expr; $end:expr) => {
        #[unsafe(naked)]
        pub(in super::super) unsafe extern "C" fn $name(
            to: *mut u8,
            from: *const u8,
            bytes: usize,
            value: u64,
        ) {
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
    ($name:ident [$store:literal] {
        each $step:literal at $at:tt lines $lines:tt;
        $memory:literal by $data:literal, value in $value:literal: $fill:expr; $end:literal
    }) => {
        block_loop! {
            $name: $fill;
            each $step: at!($at concat!($store, " ", $memory, " [rdi + "), concat!("], ", $value));
            concat!("add rdi, ", $step);
            rest "mov byte ptr [rdi], cl\ninc rdi"; $end
        }
    };
}

/// `ahead` before the instruction: through PREFETCHNTA.
macro_rules! read_loop {
    ($name:ident [$($ahead:ident)? $load:literal] {
        each $step:literal at $at:tt lines $lines:tt;
        $memory:literal by $data:literal, value in $value:literal: $fill:expr; $end:literal
    }) => {
        block_loop! {
            $name: concat!($($ahead!(first $step))?);
            each $step: concat!(
                $($ahead!(then $lines),)?
                at!($at concat!($load, " ", $data, ", ", $memory, " [rsi + "), "]")
            );
            concat!("add rsi, ", $step);
            rest "movzx r8d, byte ptr [rsi]\ninc rsi"; $end
        }
    };
}

/// `ahead` before the instructions: loads through PREFETCHNTA.
macro_rules! copy_loop {
    ($name:ident [$($ahead:ident)? $load:literal $store:literal] {
        each $step:literal at $at:tt lines $lines:tt;
        $memory:literal by $data:literal, value in $value:literal: $fill:expr; $end:literal
    }) => {
        block_loop! {
            $name: concat!($($ahead!(first $step))?);
            each $step: concat!(
                $($ahead!(then $lines),)?
                at!(
                    $at concat!($load, " ", $data, ", ", $memory, " [rsi + "),
                    concat!("]\n", $store, " ", $memory, " [rdi + "),
                    concat!("], ", $data)
                )
            );
            concat!("add rsi, ", $step, "\nadd rdi, ", $step);
            rest "movzx r8d, byte ptr [rsi]\nmov byte ptr [rdi], r8b\ninc rsi\ninc rdi"; $end
        }
    };
}

/// Prefetches by PREFETCHNTA.
macro_rules! ahead {
    // Before the loop: the first 512 bytes, or as many as there are; `r9` then says where the last whole step begins.
    (first $step:literal) => {
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
    // In the loop: the lines of the step that is 512 bytes ahead, never a line outside the block.
    (then [$($line:literal)*]) => {
        concat!(
            "lea r8, [rsi + 512]\ncmp r8, r9\ncmova r8, r9\n",
            $("prefetchnta byte ptr [r8 + ", $line, "]\n"),*
        )
    };
}
