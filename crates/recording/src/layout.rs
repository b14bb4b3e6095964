//! Where things lie in the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a chunk, its own head included: few, as each thread takes one at least, and a program may have thousands of
/// them, one after another.
pub const CHUNK: usize = 4 << 10;
/// Bytes before the first chunk.
pub const HEADER: usize = 4096;
/// Bytes of a record, and of a chunk's head.
pub(crate) const RECORD: usize = 32;
/// Records that a chunk holds.
pub const RECORDS_OF_A_CHUNK: usize = CHUNK / RECORD - 1;

/// The first eight bytes: what the file is, and the version of its layout.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"cohorec1");

/// The beginning of the file.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: u64,
    /// How many chunks were handed out; more than the file holds once it is full.
    pub(crate) chunks: AtomicU64,
    /// Records that found no room.
    pub(crate) lost: AtomicU64,
}

/// The beginning of a chunk.
#[repr(C)]
pub(crate) struct Head {
    pub(crate) process: AtomicU32,
    pub(crate) thread: AtomicU32,
    /// Whole records that follow.
    pub(crate) count: AtomicU32,
    pub(crate) unused: [u32; 5],
}

/// Makes a new file ready for a program that records into it. Its size, `chunks` of them, takes room on the disk only as
/// far as it is used.
///
/// # Errors
/// If the file cannot be written.
pub fn create(file: &File, chunks: usize) -> io::Result<()> {
    file.set_len((HEADER + chunks * CHUNK) as u64)?;
    file.write_all_at(&MAGIC.to_ne_bytes(), 0)
}
