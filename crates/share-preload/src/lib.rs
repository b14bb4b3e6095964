//! Preloaded into a dynamic program (`LD_PRELOAD`), it records into the file that `COHO_SHARE` names where the program's
//! threads are from tick to tick, and what memory the instructions there use. `coho share` makes and reads the file.
//!
//! Nothing is recorded before the program creates its first thread: one thread shares nothing. From then on, each thread
//! that `pthread_create` or `thrd_create` makes has a timer of its CPU time, which interrupts it by a real-time signal that
//! the program does not use. The handler follows the next instructions with the registers' values, and records the memory
//! that they name. Where it cannot follow them, it now and then has the thread stop after each of 32 instructions, by the trap
//! flag and SIGTRAP, unless the program or a debugger uses these.
//!
//! It stands before the functions that allocate, and keeps for each block how long it is and which site has asked for it:
//! the call's return address, and words of the stack that point into code. A block is recorded once an operand in it is.
//! `COHO_SHARE_PAD` lists sites whose blocks get cache lines of their own, unless the program has an allocator of its own.
//!
//! The program keeps its handlers, masks, and `errno`, and sees neither signal nor timer. If it wants the signal for itself, the
//! ticks end. A forked process begins anew, under its own number. The library does nothing in programs that run with more
//! rights than their user, and on anything but x86-64 with glibc.
//!
//! Threads that the program makes without the C library are not seen.
#![warn(missing_docs)]

/// The library's file.
pub const NAME: &str = "libcoho_share.so";

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod active;
#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
mod none;
