//! The lines that CPUs contend for.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use coho_platform::pages::{PAGE, Pages};

use crate::Error;
use crate::workers::{Job, Workers};

/// Words of a line.
pub(super) const WORDS: usize = 8;
/// How many lines a visit uses in turn: the cache slice that holds a line changes its time.
pub(super) const LINES: usize = 8;
/// Distance between offsets in the pages, so that the lines are not all of one set of a cache.
const APART: usize = 5 * 128;
/// And between those of a page in one pass and the next.
const PASSES_APART: usize = 11 * 128;

/// A line of words.
pub(super) type Line = [AtomicU64; WORDS];

/// Pages, with lines on each of them.
pub(super) struct Lines(Pages);

/// The lines of a pass, each on a page of its own. Another pass has other lines, as another run would.
#[derive(Clone, Copy)]
pub(super) struct OfPass<'a> {
    pages: &'a Pages,
    pass: usize,
}

impl Lines {
    /// Maps the lines, on the memory node of this CPU: its worker touches them first.
    ///
    /// # Errors
    /// If there is no room, or the CPU has no worker.
    pub(super) fn map(workers: &Workers, home: u32) -> Result<Self, Error> {
        let lines = Self(Pages::map(LINES * PAGE)?);
        let touch: Job<'_, ()> = Box::new(|| lines.of_pass(0).each().for_each(clear));
        workers.run(vec![(home, touch)]).remove(0)?;
        Ok(lines)
    }

    pub(super) fn of_pass(&self, pass: usize) -> OfPass<'_> {
        OfPass { pages: &self.0, pass }
    }
}

impl<'a> OfPass<'a> {
    pub(super) fn get(&self, index: usize) -> &'a Line {
        let page = index % LINES;
        let offset = page * PAGE + (page * APART + self.pass * PASSES_APART) % PAGE;
        // SAFETY: within the mapping as an offset in a page is a multiple of 128 below its size, aligned, zeroed, and used
        // only as these atomics as long as the pages live.
        unsafe { &*self.pages.start().add(offset).cast::<Line>().as_ptr() }
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &'a Line> {
        (0..LINES).map(|index| self.get(index))
    }
}

/// Sets every word to 0.
pub(super) fn clear(line: &Line) {
    line.iter().for_each(|word| word.store(0, Relaxed));
}
