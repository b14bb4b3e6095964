//! Clearing the caches (Shimosawa, Hori & Ishikawa): 64 KiB of nops executed, 64 MiB walked.

use super::code::Code;
use super::walk::Sweep;
use crate::Error;

/// Instructions that are executed, in bytes.
pub(super) const CODE: usize = 64 << 10;
/// Memory that is walked, in bytes.
pub(super) const DATA: usize = 64 << 20;

/// What clears the caches.
pub(super) struct Clear {
    data: Sweep,
    code: Code,
}

impl Clear {
    /// Maps and touches it.
    ///
    /// # Errors
    /// If memory is short, or the system forbids generated code.
    pub(super) fn new() -> Result<Self, Error> {
        let left = coho_platform::memory::room();
        if left < 2 * DATA as u64 {
            let left = left >> 20;
            return Err(Error::other(format!(
                "clearing the caches takes 64 MiB of memory, and only {left} MiB are left"
            )));
        }
        Ok(Self { data: Sweep::new(DATA)?, code: Code::nops(CODE)? })
    }

    /// Clears them.
    pub(super) fn run(&self) {
        self.data.walk();
        self.code.run();
    }
}
