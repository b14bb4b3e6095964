//! The shape of all loops: whole steps, unrolled, then single bytes.
//!
//! By the calling convention `x0` is the destination, `x1` the source, `x2` the size and `x3` the value; every register
//! that is used here belongs to the called function.

/// A loop: its prologue, one step of a number of bytes, how the pointers advance, one byte of the rest.
macro_rules! block_loop {
    ($name:ident: $begin:expr; each $step:literal: $body:expr; $advance:expr; rest $rest:expr) => {
        #[unsafe(naked)]
        pub(in super::super) unsafe extern "C" fn $name(
            to: *mut u8,
            from: *const u8,
            bytes: usize,
            value: u64,
        ) {
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
    ($name:ident [$store:literal] {
        each $step:literal at $at:tt; $data:literal, value in $value:literal: $fill:literal
    }) => {
        block_loop! {
            $name: $fill;
            each $step: at!($at concat!($store, " ", $value, ", [x0, #"), "]");
            concat!("add x0, x0, #", $step);
            rest "strb w3, [x0], #1"
        }
    };
}

macro_rules! read_loop {
    ($name:ident [$load:literal] {
        each $step:literal at $at:tt; $data:literal, value in $value:literal: $fill:literal
    }) => {
        block_loop! {
            $name: "";
            each $step: at!($at concat!($load, " ", $data, ", [x1, #"), "]");
            concat!("add x1, x1, #", $step);
            rest "ldrb w5, [x1], #1"
        }
    };
}

macro_rules! copy_loop {
    ($name:ident [$load:literal $store:literal] {
        each $step:literal at $at:tt; $data:literal, value in $value:literal: $fill:literal
    }) => {
        block_loop! {
            $name: "";
            each $step: at!(
                $at concat!($load, " ", $data, ", [x1, #"), concat!("]\n", $store, " ", $data, ", [x0, #"), "]"
            );
            concat!("add x0, x0, #", $step, "\nadd x1, x1, #", $step);
            rest "ldrb w5, [x1], #1\nstrb w5, [x0], #1"
        }
    };
}
