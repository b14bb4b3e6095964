//! Clearing the caches (Shimosawa, Hori & Ishikawa): 64 KiB of nops are executed and 64 MiB walked, or more if the
//! last-level cache is larger than half of that.

use super::caches::Caches;
use super::code::Code;
use super::walk::Sweep;
use crate::Error;

/// Size of the executed nops, in bytes.
pub(super) const CODE: usize = 64 << 10;
/// The paper's walk, in bytes; its machine's last-level cache had an eighth of that size.
const PAPER: usize = 64 << 20;
/// The walk covers this many times the cache: replacement would keep some lines through a walk of just its size.
const TIMES: usize = 2;

/// What clears the caches.
pub(super) struct Clear {
    data: Sweep,
    code: Code,
}

/// Size of the memory that is walked to clear these caches, in bytes.
pub(super) fn data_bytes(caches: Caches) -> usize {
    PAPER.max(TIMES * caches.last)
}

impl Clear {
    /// Maps and touches the memory.
    ///
    /// # Errors
    /// If memory is short, or the system forbids generated code.
    pub(super) fn new(caches: Caches) -> Result<Self, Error> {
        let (left, bytes) = (coho_platform::memory::room(), data_bytes(caches));
        if left < 2 * bytes as u64 {
            let (left, needed) = (left >> 20, bytes >> 20);
            return Err(Error::memory(format!(
                "clearing the caches takes {needed} MiB of memory, and only {left} MiB are left"
            )));
        }
        Ok(Self { data: Sweep::new(bytes)?, code: Code::nops(CODE)? })
    }

    /// Clears the caches.
    pub(super) fn run(&self) {
        self.data.walk();
        self.code.run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_is_twice_the_last_cache_and_never_less_than_the_papers() {
        let caches = |last| Caches { l1d: 32 << 10, l1d_ways: 8, l1i: 32 << 10, l2: 1 << 20, last };
        assert_eq!(data_bytes(caches(8 << 20)), 64 << 20);
        assert_eq!(data_bytes(caches(105 << 20)), 210 << 20);
        // If the size is not known.
        assert_eq!(data_bytes(caches(0)), 64 << 20);
    }
}
