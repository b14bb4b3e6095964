//! The numbers of barriers, as in the paper, and the flags that hold them.

use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicU8, claim};

/// The number after this one. Three are enough (Nakamura et al.): no thread can be two barriers ahead of another, so
/// a flag holds one's own number, the next one, or the previous one.
#[inline(always)]
pub(crate) fn next(number: u8) -> u8 {
    if number == 2 { 0 } else { number + 1 }
}

/// One byte that one thread writes and others look at: the number of the barrier that the writer has reached.
#[derive(Debug)]
pub(crate) struct Flag(AtomicU8);

impl Flag {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// Publishes a number, and with it all that the thread did before.
    #[inline(always)]
    pub(crate) fn raise(&self, number: u8) {
        self.0.store(number, Release);
    }

    /// Whether the flag holds the number after `previous` or the one after that: of three numbers, any but `previous`.
    #[inline(always)]
    pub(crate) fn has_left(&self, previous: u8) -> bool {
        self.0.load(Acquire) != previous
    }

    /// Fetches the flag's line for writing, for a thread whose own flag is on the same line.
    #[inline(always)]
    pub(crate) fn claim(&self) {
        claim(&self.0);
    }

    /// The byte itself, for processors that can watch its line.
    pub(crate) fn byte(&self) -> &AtomicU8 {
        &self.0
    }

    /// The flag's own number, for its only writer.
    #[inline(always)]
    pub(crate) fn own(&self) -> u8 {
        self.0.load(Relaxed)
    }
}
