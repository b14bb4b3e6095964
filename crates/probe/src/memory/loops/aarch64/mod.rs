//! 64-bit ARM.

#[macro_use]
mod shape;
mod registers;

use self::registers::{neon, plain_4, plain_8};
use super::Stores::{NonTemporal, Temporal};
use super::{ALWAYS, Loop, copy, read, write};

/// All loops, in the order in which they are reported.
pub(super) const LOOPS: &[Loop] = &[
    write("plain-4", Temporal, ALWAYS, plain_4::write),
    write("plain-8", Temporal, ALWAYS, plain_8::write),
    write("neon", Temporal, ALWAYS, neon::write),
    write("neon-nt", NonTemporal, ALWAYS, neon::write_nt),
    read("plain-4", ALWAYS, plain_4::read),
    read("plain-8", ALWAYS, plain_8::read),
    read("neon", ALWAYS, neon::read),
    read("neon-nt", ALWAYS, neon::read_nt),
    copy("plain-4", Temporal, ALWAYS, plain_4::copy),
    copy("plain-8", Temporal, ALWAYS, plain_8::copy),
    copy("neon", Temporal, ALWAYS, neon::copy),
    copy("neon-nt", NonTemporal, ALWAYS, neon::copy_nt),
];

#[inline(always)]
pub(super) fn fence() {
    // SAFETY: a barrier only.
    unsafe { std::arch::asm!("dsb st", options(nostack, preserves_flags)) };
}
