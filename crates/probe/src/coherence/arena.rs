//! The lines that a CPU brings to its pairs, two on each page.

use coho_platform::pages::{PAGE, Pages};

use super::line::Two;
use super::sync::AtomicU64;
use crate::Error;

/// Lines of a batch,
pub(crate) const SEGMENTS: usize = 4;
/// groups of lines, which batches take in turn,
pub(crate) const GROUPS: usize = 8;
/// and pairs of lines in all: enough to know the mean over a cache's slices. The protocols need at least two.
pub(crate) const LINES: usize = SEGMENTS * GROUPS;
/// Distance that keeps two lines apart even if lines are fetched in pairs.
const APART: usize = 128;

/// `LINES` pairs of lines, untouched.
#[derive(Debug)]
pub(crate) struct Arena {
    pages: Pages,
}

impl Arena {
    pub(crate) fn map() -> Result<Self, Error> {
        Ok(Self { pages: Pages::map(LINES * PAGE)? })
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    pub(crate) fn lines(&self) -> [Two<'_>; LINES] {
        self.lines_of(0)
    }

    /// The lines of a pass: others than in the pass before, as another run would have others.
    pub(crate) fn lines_of(&self, pass: usize) -> [Two<'_>; LINES] {
        std::array::from_fn(|i| Two { first: self.line(2 * i, pass), second: self.line(2 * i + 1, pass) })
    }

    fn line(&self, index: usize, pass: usize) -> &AtomicU64 {
        // Not all in the same set of a cache: each page has another offset, and its two lines are half a page apart.
        let page = index / 2;
        let within = (page * 5 * APART + pass * 11 * APART + index % 2 * PAGE / 2) % PAGE;
        let offset = page * PAGE + within;
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
        let of = |pass| arena.lines_of(pass).map(|two| two.first as *const _ as usize);
        assert!((1..20).all(|pass| of(pass).iter().zip(of(pass - 1)).all(|(one, before)| *one != before)));
        let mut addresses: Vec<_> = arena
            .lines_of(7)
            .iter()
            .flat_map(|two| [two.first as *const _ as usize, two.second as *const _ as usize])
            .collect();
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= APART));
        assert!(addresses.iter().all(|address| address % APART == 0));
    }
}
