//! FBS with each flag on a line of its own (Nakamura et al.): one store and n-1 reads per thread, no
//! read-modify-write.

use super::call::Call;
use super::lend::Line;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Bell, Ended, Gap, Steps};

#[derive(Debug)]
pub(super) struct SeparateLines {
    flags: Box<[Padded<Flag>]>,
    bell: Padded<Bell>,
    gap: Gap,
}

impl SeparateLines {
    pub(super) fn new(threads: usize, bell: Bell) -> Self {
        Self {
            flags: (0..threads).map(|_| Padded(Flag::new())).collect(),
            bell: Padded(bell),
            gap: Gap::of_barrier(),
        }
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        call.exchange(self.flags.len(), |rank| &self.flags[rank], &self.bell, (&self.gap, Steps::pass))
    }

    /// The lines of the flags.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = Line<'_>> {
        self.flags.iter_mut().map(Line::of)
    }

    /// The bell at which all waiting threads sleep.
    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }
}
