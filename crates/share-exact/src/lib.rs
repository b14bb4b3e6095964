//! Preloaded into a dynamic program that gcc has built with `-fsanitize=thread`, it takes the place of that runtime,
//! `libtsan.so.2`: the compiler has put a call of it before each access to memory that another thread may see. It looks
//! for no races. It counts, into the file that `COHO_SHARE` names, how often each of these calls accesses what, in
//! lines that threads share. `coho share --exact` makes and reads the file.
//!
//! Each line has a word that says which thread has it, and how often it went from one to another with something
//! written. After four times, the line counts as shared for good: its word is only read from then on, so that the words
//! themselves go nowhere, and each thread counts for itself. What a thread does before that is not counted. Of what the
//! C library does on the program's behalf, `memcpy`, `memmove` and `memset` are.
//!
//! Atomic operations are done here, as the program asks for them. Without a file to record into, nothing else is done.
//! The library does nothing more than them in programs that run with more rights than their user, and nothing at all on
//! anything but x86-64 with glibc.
#![warn(missing_docs)]

/// The library's file.
pub const NAME: &str = "libcoho_tsan.so";

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod active;
