//! A ring of lines, each of which holds the address of the next: loads that cannot overlap.

use std::ptr::NonNull;

use crate::Error;
use crate::clock::Clock;
use crate::flush::{fence, flush_line};
use crate::pages::{Pages, Paging};

/// Bytes of a line.
pub(crate) const LINE: usize = 64;
/// Distance of the ring's lines: processors that fetch lines in pairs would otherwise bring the next one early.
pub(crate) const STRIDE: usize = 128;
/// Lines whose order is random among themselves, before the ring moves on: a window touches few pages, so that
/// looking up addresses costs little.
const WINDOW: usize = 512;
/// Windows that are timed at most.
const TIMED: usize = 32;

/// Lines that one CPU prepares and another reads.
pub(crate) struct Ring {
    pages: Pages,
    lines: usize,
    /// The first line of each window, in the order of the ring.
    windows: Vec<usize>,
}

impl Ring {
    /// Memory for rings of up to `bytes` of lines; untouched.
    pub(crate) fn map(bytes: u64) -> Result<Self, Error> {
        Self::map_on(bytes, Paging::Huge, None)
    }

    /// The same on pages of this kind, on this memory node if one is named.
    pub(crate) fn map_on(bytes: u64, paging: Paging, node: Option<u32>) -> Result<Self, Error> {
        let lines = bytes as usize / LINE;
        Ok(Self { pages: Pages::map_at(lines * STRIDE, paging, node)?, lines: 0, windows: Vec::new() })
    }

    /// Links a ring of `bytes` of lines, on the calling thread, whose first touch places what was untouched.
    ///
    /// # Panics
    /// If the memory is too small.
    pub(crate) fn link(&mut self, bytes: u64, random: &mut fastrand::Rng) {
        self.lines = bytes as usize / LINE;
        assert!(self.lines * STRIDE <= self.pages.bytes(), "the ring is larger than its memory");
        let mut starts: Vec<usize> = (0..self.lines).step_by(WINDOW).collect();
        random.shuffle(&mut starts);
        let mut order = Vec::with_capacity(self.lines);
        self.windows.clear();
        for start in starts {
            let begin = order.len();
            order.extend(start..(start + WINDOW).min(self.lines));
            random.shuffle(&mut order[begin..]);
            self.windows.push(order[begin]);
        }
        for (at, &line) in order.iter().enumerate() {
            let next = self.line(order[(at + 1) % order.len()]);
            // SAFETY: `line` is within the ring's memory, which nobody else uses meanwhile.
            unsafe { self.line(line).cast::<NonNull<u8>>().write_volatile(next) };
        }
    }

    /// Writes each line, so that the calling CPU holds it modified.
    pub(crate) fn write(&self) {
        for line in 0..self.lines {
            // SAFETY: the second word of a line; the first holds the ring.
            unsafe { self.line(line).cast::<u64>().add(1).write_volatile(line as u64) };
        }
    }

    /// Loads each line into the calling CPU's cache.
    pub(crate) fn load(&self) {
        for line in 0..self.lines {
            // SAFETY: within the ring's memory.
            unsafe { self.line(line).cast::<u64>().read_volatile() };
        }
    }

    /// Removes each line from every cache.
    pub(crate) fn flush(&self) {
        for line in 0..self.lines {
            flush_line(self.line(line));
        }
        fence();
    }

    /// Follows the ring; returns ns per load, one figure a window.
    pub(crate) fn chase(&self, clock: &Clock) -> Vec<f64> {
        let per_window = WINDOW.min(self.lines);
        self.windows
            .iter()
            .take(TIMED)
            // The last line of a ring whose length is no multiple would make its window shorter.
            .filter(|&&first| first / WINDOW * WINDOW + per_window <= self.lines)
            .map(|&first| {
                let mut line = self.line(first);
                let start = clock.now();
                for _ in 0..per_window {
                    // SAFETY: `line` is within the ring, and so is the address that it holds.
                    line = unsafe { line.cast::<NonNull<u8>>().read_volatile() };
                }
                let ticks = clock.now() - start;
                std::hint::black_box(line);
                clock.ns(ticks) / per_window as f64
            })
            .collect()
    }

    /// Follows the ring over so many windows from line `at` on, which becomes the line that it has come to; returns ns
    /// per load, one figure a window.
    pub(crate) fn follow(&self, at: &mut usize, windows: usize, clock: &Clock) -> Vec<f64> {
        let mut line = self.line(*at);
        let mut times = Vec::with_capacity(windows);
        for _ in 0..windows {
            let start = clock.now();
            for _ in 0..WINDOW {
                // SAFETY: `line` is within the ring, and so is the address that it holds.
                line = unsafe { line.cast::<NonNull<u8>>().read_volatile() };
            }
            let ticks = clock.now() - start;
            times.push(clock.ns(ticks) / WINDOW as f64);
        }
        *at = (line.as_ptr() as usize - self.line(0).as_ptr() as usize) / STRIDE;
        times
    }

    /// Where the ring's lines lie.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    fn line(&self, index: usize) -> NonNull<u8> {
        debug_assert!(index * STRIDE < self.pages.bytes());
        // SAFETY: `link` has checked that all lines are within the memory.
        unsafe { self.pages.start().add(index * STRIDE) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn visits_every_line_once() {
        for bytes in [LINE as u64, 16 << 10, (40 << 10) + 64, 1 << 20] {
            let mut ring = Ring::map(bytes).unwrap();
            ring.link(bytes, &mut fastrand::Rng::with_seed(1));
            ring.write();
            ring.flush();
            ring.load();
            let mut seen = BTreeSet::new();
            let mut line = ring.line(0);
            while seen.insert(line.as_ptr() as usize) {
                // SAFETY: the ring is linked.
                line = unsafe { line.cast::<NonNull<u8>>().read() };
            }
            assert_eq!(seen.len(), bytes as usize / LINE);
            assert!(ring.chase(&Clock::get()).iter().all(|&ns| ns > 0.0));
            let mut at = 0;
            assert_eq!(ring.follow(&mut at, 3, &Clock::get()).len(), 3);
            assert!(at < bytes as usize / LINE);
        }
    }
}
