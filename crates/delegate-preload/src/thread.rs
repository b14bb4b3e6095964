//! What the library keeps for each thread, as quickly accessible as possible: nearly every call looks there.

use std::cell::Cell;

use crate::mask::Left;

/// Pages that a thread remembers.
pub const KEPT: usize = 16;

/// A thread's calls before it has a caller: what makes few gains nothing.
pub const FIRST_CALLS: u32 = 64;

/// What the calling thread keeps. It needs no destructor, so a signal handler may be the first to use it.
#[repr(C)]
pub struct Thread {
    /// How many calls it has made that could have been delegated.
    pub count: Cell<u32>,
    /// Why it makes its calls itself.
    pub at_home: Cell<u8>,
    /// Whether it holds the queue of pending writes, or is about to.
    pub at_queue: Cell<bool>,
    /// How many of its writes were accepted.
    pub accepted: Cell<u64>,
    /// Whether its writes are done at once.
    pub at_once: Cell<bool>,
    /// Whether it keeps off the shared CPUs, and where it keeps which CPUs it had.
    pub has_left: Cell<bool>,
    pub left: Cell<*mut Left>,
    /// Whether `MINE` has been used, as takes memory for its destructor: a handler that used it meanwhile would have it
    /// destroyed twice.
    pub is_ready: Cell<bool>,
    pub is_becoming_ready: Cell<bool>,
    /// The age in which its pages were looked at.
    pub seen: Cell<usize>,
    /// Pages that could be read, each in the place of its number modulo the length.
    pub pages: [Cell<usize>; KEPT],
}

coho_preload::thread_storage!("coho_delegate_thread", Thread);
