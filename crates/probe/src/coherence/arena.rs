//! The lines that a CPU brings to its pairs, each on a page of its own.

use super::line::Two;
use super::sync::AtomicU64;
use crate::Error;
use crate::memory::{PAGE, Pages};

/// Lines that a run takes in turn: some slices of a cache, each often enough for a median. The protocols need at least
/// two.
pub(crate) const LINES: usize = 8;
/// Distance that keeps two lines apart also where lines are fetched in pairs.
const APART: usize = 128;

/// `LINES` pairs of lines, untouched.
#[derive(Debug)]
pub(crate) struct Arena {
    pages: Pages,
}

impl Arena {
    pub(crate) fn map() -> Result<Self, Error> {
        Ok(Self { pages: Pages::map(2 * LINES * PAGE)? })
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    pub(crate) fn lines(&self) -> [Two<'_>; LINES] {
        std::array::from_fn(|i| Two { first: self.line(2 * i), second: self.line(2 * i + 1) })
    }

    fn line(&self, index: usize) -> &AtomicU64 {
        // Not the same set of a cache for all: another offset in each page.
        let offset = index * PAGE + (index * 5 * APART) % PAGE;
        // SAFETY: within the mapping, aligned, zeroed, and used only as this atomic as long as the arena lives.
        unsafe { AtomicU64::from_ptr(self.pages.start().add(offset).cast().as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_apart() {
        let arena = Arena::map().unwrap();
        let mut addresses: Vec<_> = arena
            .lines()
            .iter()
            .flat_map(|two| [two.first as *const _ as usize, two.second as *const _ as usize])
            .collect();
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[1] / PAGE > pair[0] / PAGE));
        assert!(addresses.iter().all(|address| address % APART == 0));
    }
}
