//! FBS with all flags on one line (Nakamura et al.): each store invalidates all other threads' copies.

use super::call::Call;
use super::lend::Line;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Bell, Ended, Gap, Steps};

/// Flags per line.
const LINE: usize = 128;

#[derive(Debug)]
pub(super) struct OneLine {
    lines: Box<[Padded<[Flag; LINE]>]>,
    threads: usize,
    bell: Padded<Bell>,
    gap: Gap,
}

impl OneLine {
    pub(super) fn new(threads: usize, bell: Bell) -> Self {
        let line = |_| Padded(std::array::from_fn(|_| Flag::new()));
        let lines = (0..threads.div_ceil(LINE)).map(line).collect();
        Self { lines, threads, bell: Padded(bell), gap: Gap::of_barrier() }
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        call.exchange(
            self.threads,
            |rank| &self.lines[rank / LINE][rank % LINE],
            &self.bell,
            (&self.gap, Steps::pass),
        )
    }

    /// The lines of the flags.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = Line<'_>> {
        self.lines.iter_mut().map(Line::of)
    }

    /// The bell at which all waiting threads sleep.
    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }
}
