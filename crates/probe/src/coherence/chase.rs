//! A ring of lines, each of which holds the address of the next: loads that cannot overlap.

use std::borrow::Borrow;
use std::ptr::NonNull;

use coho_platform::pages::{Pages, Paging};

use crate::Error;
use crate::clock::Clock;
use crate::flush::{fence, flush_line};

/// Bytes of a line.
pub(crate) const LINE: usize = 64;
/// Distance between the ring's lines: processors that fetch lines in pairs would otherwise bring in the next one early.
pub(crate) const STRIDE: usize = 128;
/// Lines whose order is random among themselves, before the ring moves on: a window touches few pages, so that address
/// translation costs little.
const WINDOW: usize = 512;
/// The most windows that are timed.
const TIMED: usize = 32;

/// Untouched memory for rings of up to `bytes` of lines, on pages of this kind, on this memory node if one is named.
///
/// # Errors
/// If there is no room, or the operating system refuses the pages or the node.
pub(crate) fn memory(bytes: u64, paging: Paging, node: Option<u32>) -> Result<Pages, Error> {
    Ok(Pages::map_at(bytes as usize / LINE * STRIDE, paging, node)?)
}

/// Lines that one CPU prepares and another reads. There is at least one, and each holds the address of another, so
/// following a ring is always safe.
pub(crate) struct Ring<P: Borrow<Pages> = Pages> {
    pages: P,
    lines: usize,
    /// The first line of each window, in the order of the ring.
    windows: Vec<usize>,
}

impl<P: Borrow<Pages>> Ring<P> {
    /// Links a ring of `bytes` of lines in memory of its own, on the calling thread, whose first touch places what was
    /// untouched.
    ///
    /// # Errors
    /// If that is not a single line, or more than the memory holds.
    pub(crate) fn link(pages: P, bytes: u64, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let lines = bytes as usize / LINE;
        if !(1..=pages.borrow().bytes() / STRIDE).contains(&lines) {
            let room = pages.borrow().bytes() / STRIDE * LINE;
            return Err(Error::memory(format!("a ring of {bytes} bytes in memory for {room}")));
        }
        let mut ring = Self { pages, lines, windows: Vec::new() };
        let mut starts: Vec<usize> = (0..lines).step_by(WINDOW).collect();
        random.shuffle(&mut starts);
        let mut order = Vec::with_capacity(lines);
        for start in starts {
            let begin = order.len();
            order.extend(start..(start + WINDOW).min(lines));
            random.shuffle(&mut order[begin..]);
            ring.windows.push(order[begin]);
        }
        for (at, &line) in order.iter().enumerate() {
            let next = ring.line(order[(at + 1) % order.len()]);
            // SAFETY: `line` is within the ring's memory, which nobody else uses meanwhile.
            unsafe { ring.line(line).cast::<NonNull<u8>>().write_volatile(next) };
        }
        Ok(ring)
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
            // SAFETY: within the ring's memory.
            unsafe { flush_line(self.line(line)) };
        }
        fence();
    }

    /// Follows the ring; returns ns per load, one figure a window.
    pub(crate) fn chase(&self, clock: &Clock) -> Vec<f64> {
        let per_window = WINDOW.min(self.lines);
        self.windows
            .iter()
            .take(TIMED)
            // If the ring's length is not a multiple of the window, the last window would be shorter.
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

    /// Follows the ring over this many windows, beginning at line `at`, which is set to the line that was reached;
    /// returns ns per load, one figure a window.
    ///
    /// # Panics
    /// If the ring has no line `at`.
    pub(crate) fn follow(&self, at: &mut usize, windows: usize, clock: &Clock) -> Vec<f64> {
        assert!(*at < self.lines, "line {at} of {}", self.lines);
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

    /// Size of the pages that the kernel provided, in bytes; `None` if it does not say.
    pub(crate) fn page_bytes(&self) -> Option<u64> {
        self.pages.borrow().page_bytes()
    }

    /// The memory node on which the ring lies; `None` if the kernel does not say.
    pub(crate) fn node(&self) -> Option<u32> {
        self.pages.borrow().node()
    }

    fn line(&self, index: usize) -> NonNull<u8> {
        debug_assert!(index < self.lines);
        // SAFETY: `link` has checked that all lines are within the memory.
        unsafe { self.pages.borrow().start().add(index * STRIDE) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn visits_every_line_once() {
        for bytes in [LINE as u64, 16 << 10, (40 << 10) + 64, 1 << 20] {
            let pages = memory(bytes, Paging::Huge, None).unwrap();
            let ring = Ring::link(pages, bytes, &mut fastrand::Rng::with_seed(1)).unwrap();
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

    #[test]
    fn there_is_no_ring_without_a_line_nor_one_beyond_its_memory() {
        let mut pages = memory(4096, Paging::Small, None).unwrap();
        let beyond = (pages.bytes() / STRIDE * LINE + LINE) as u64;
        for bytes in [0, LINE as u64 - 1, beyond, u64::MAX] {
            let random = &mut fastrand::Rng::with_seed(1);
            assert!(Ring::link(&mut pages, bytes, random).is_err(), "{bytes}");
        }
    }
}
