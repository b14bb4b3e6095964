//! FBS with all flags in one line (Nakamura et al.): each store invalidates everybody's copy.

use super::call::{Call, others};
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::Ended;

/// Flags in a line.
const LINE: usize = 128;

#[derive(Debug)]
pub(super) struct OneLine {
    lines: Box<[Padded<[Flag; LINE]>]>,
    threads: usize,
}

impl OneLine {
    pub(super) fn new(threads: usize) -> Self {
        let line = |_| Padded(std::array::from_fn(|_| Flag::new()));
        Self { lines: (0..threads.div_ceil(LINE)).map(line).collect(), threads }
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        let flag = |rank: usize| &self.lines[rank / LINE][rank % LINE];
        call.raise(flag(call.rank));
        for other in others(call.rank, self.threads) {
            call.wait_for(other, flag(other))?;
        }
        Ok(())
    }
}
