//! The shape of all loops: whole steps, unrolled, then single bytes.
//!
//! By the calling convention `x0` is the destination, `x1` the source, `x2` the size and `x3` the value; every register
//! that is used here belongs to the called function.

/// Assembly lines, one (or one pair) for each displacement.
macro_rules! at {
    ([$($at:literal)*] $a:literal $b:literal) => { concat!($($a, $at, $b, "\n"),*) };
    ([$($at:literal)*] $a:literal $b:literal $c:literal) => { concat!($($a, $at, $b, $at, $c, "\n"),*) };
}

/// A loop: its prologue, one step of a number of bytes, how the pointers advance, one byte of the rest.
macro_rules! block_loop {
    (
        $(#[$doc:meta])* $name:ident: $begin:expr;
        each $step:literal: $body:expr; $advance:expr; rest $rest:expr
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(to: *mut u8, from: *const u8, bytes: usize, value: u64) {
            std::arch::naked_asm!(
                $begin,
                "lsr x4, x2, #{shift}",
                "and x2, x2, #{rest}",
                "cbz x4, 3f",
                ".p2align 5",
                "2:",
                $body,
                $advance,
                "subs x4, x4, #1",
                "b.ne 2b",
                "3:",
                "cbz x2, 5f",
                "4:",
                $rest,
                "subs x2, x2, #1",
                "b.ne 4b",
                "5:",
                "ret",
                rest = const $step - 1,
                shift = const ($step as u32).ilog2(),
            )
        }
    };
}

macro_rules! write_loop {
    ($(#[$doc:meta])* $name:ident: $begin:expr; each $step:literal: $body:expr) => {
        block_loop! {
            $(#[$doc])* $name: $begin;
            each $step: $body; concat!("add x0, x0, #", $step);
            rest "strb w3, [x0], #1"
        }
    };
}

macro_rules! read_loop {
    ($(#[$doc:meta])* $name:ident: each $step:literal: $body:expr) => {
        block_loop! {
            $(#[$doc])* $name: "";
            each $step: $body; concat!("add x1, x1, #", $step);
            rest "ldrb w5, [x1], #1"
        }
    };
}

macro_rules! copy_loop {
    ($(#[$doc:meta])* $name:ident: each $step:literal: $body:expr) => {
        block_loop! {
            $(#[$doc])* $name: "";
            each $step: $body; concat!("add x0, x0, #", $step, "\nadd x1, x1, #", $step);
            rest "ldrb w5, [x1], #1\nstrb w5, [x0], #1"
        }
    };
}
