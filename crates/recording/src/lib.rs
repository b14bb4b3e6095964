//! What a library that is preloaded into a program records of it, in a file that both it and coho map: where its
//! threads are from tick to tick, what memory their instructions name, and what it allocates.
//!
//! The file is a page that counts chunks, [`HEADER`] bytes, and the chunks of [`CHUNK`] bytes each. A chunk holds
//! records of one thread in the order of its time; a thread fills as many as it needs, so that no two threads write to
//! one cache line. A file that is full takes no more, and counts what it lost.
#![warn(missing_docs)]

mod layout;
mod read;
mod record;
mod write;

pub use layout::{CHUNK, HEADER, RECORDS_OF_A_CHUNK, create};
pub use read::{Error, Item, Recording};
pub use record::{Access, Record};
pub use write::{Recorder, Writer};

/// Nanoseconds of CPU time between two ticks of a thread. The kernel looks at a thread's CPU time once in each of its
/// own ticks, 100 to 1000 times a second.
pub fn every_ns() -> u64 {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one time.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    step.tv_nsec.clamp(1_000_000, 10_000_000) as u64
}

/// The environment variable that names the file to record into; without it, nothing is recorded.
pub const FILE: &str = "COHO_SHARE";
/// The environment variable that names the sites whose memory gets cache lines of its own: their frames' innermost
/// addresses as `MODULE+0xADDRESS`, separated by commas, where MODULE is the file name of a program or library and
/// ADDRESS one within its file. Works with [`FILE`] and without.
pub const PAD: &str = "COHO_SHARE_PAD";
/// The environment variable that says that another library counts accesses: threads are not interrupted then. Works
/// with [`FILE`] alone.
pub const COUNT: &str = "COHO_SHARE_COUNT";
