//! FBS of two threads with both flags on one line.
//!
//! A thread's store fetches the line, and the partner's flag with it. So a barrier takes one transfer, the partner's,
//! if the thread raises its next flag before the line is taken away again. The code therefore does little between two
//! flags, and a waiting thread learns how often it pays to look. It fetches the line for writing, since its own next
//! flag goes there.

use super::call::Call;
use super::lend::Line;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Bell, Ended, Gap, Steps};

#[derive(Debug)]
pub(super) struct Pair {
    flags: Padded<[Flag; 2]>,
    bell: Padded<Bell>,
    gap: Gap,
}

impl Pair {
    pub(super) fn new(bell: Bell) -> Self {
        Self { flags: Padded([Flag::new(), Flag::new()]), bell: Padded(bell), gap: Gap::of_barrier() }
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        let flags = &self.flags;
        call.exchange(2, |rank| &flags[rank & 1], &self.bell, (&self.gap, Steps::pass_and_claim))
    }

    /// The lines of the flags.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = Line<'_>> {
        std::iter::once(Line::of(&mut self.flags))
    }

    /// The bell at which all waiting threads sleep.
    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }
}
