//! A place on a line of its own.

use std::ops::Deref;

/// Two 64-byte lines, since Intel's and AMD's prefetchers fetch lines in pairs; also the line of the paper's POWER4+.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
