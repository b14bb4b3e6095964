//! A random cycle through lines: every load gets its address from the load before it.

use std::cell::Cell;

use super::mapping::Mapping;
use super::{Word, arch, loops};
use crate::Error;

/// Pointers in lines, each line's to the next of one cycle through all of them.
#[derive(Debug)]
pub(super) struct Cycle {
    mapping: Mapping,
    stride: usize,
    lines: usize,
    at: Cell<Word>,
}

impl Cycle {
    /// A cycle through every `stride`-th byte of `bytes`.
    ///
    /// # Panics
    /// If there is no room for a pointer in each.
    pub(super) fn new(bytes: usize, stride: usize) -> Result<Self, Error> {
        assert!(stride.is_multiple_of(size_of::<Word>()) && stride > 0 && bytes >= stride);
        let mapping = Mapping::new(bytes)?;
        let lines = bytes / stride;
        let mut order: Vec<usize> = (0..lines).collect();
        shuffle(&mut order);
        for (i, &line) in order.iter().enumerate() {
            let next = mapping.at(order[(i + 1) % lines] * stride);
            // SAFETY: the start of a line within the mapping, which has room for a pointer and is aligned for one.
            unsafe { mapping.at(line * stride).cast::<Word>().write(next) };
        }
        let at = Cell::new(mapping.start());
        Ok(Self { mapping, stride, lines, at })
    }

    /// Goes on for this many lines.
    pub(super) fn walk(&self, steps: u64) {
        // SAFETY: every pointer of the cycle leads to a pointer of the cycle.
        self.at.set(unsafe { loops::chase(self.at.get(), steps) });
    }

    /// Takes all lines out of all caches.
    pub(super) fn flush(&self) {
        for line in 0..self.lines {
            arch::flush(self.mapping.at(line * self.stride));
        }
        arch::complete();
    }
}

/// Puts a list into a random order (Fisher and Yates), the same in every run.
fn shuffle(order: &mut [usize]) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for i in (1..order.len()).rev() {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % (i as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_visits_every_line_once() {
        let (lines, stride) = (384, 64);
        let cycle = Cycle::new(lines * stride, stride).unwrap();
        let mut seen = vec![false; lines];
        let mut neighbours = 0;
        for _ in 0..lines {
            let before = cycle.at.get().as_ptr() as usize;
            cycle.walk(1);
            let after = cycle.at.get().as_ptr() as usize;
            let line = (after - cycle.mapping.start().as_ptr() as usize) / stride;
            assert!(!seen[line], "line {line} twice");
            seen[line] = true;
            neighbours += usize::from(before.abs_diff(after) == stride);
        }
        assert_eq!(cycle.at.get(), cycle.mapping.start());
        assert!(neighbours < lines / 10, "{neighbours} steps to the next line: no random order");
        cycle.flush();
        cycle.walk(lines as u64);
        assert_eq!(cycle.at.get(), cycle.mapping.start());
    }
}
