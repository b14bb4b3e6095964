//! FBS with each flag on a line of its own (Nakamura et al.): one store and n-1 reads a thread, no read-modify-write.

use super::call::{Call, others};
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::Ended;

#[derive(Debug)]
pub(super) struct SeparateLines {
    flags: Box<[Padded<Flag>]>,
}

impl SeparateLines {
    pub(super) fn new(threads: usize) -> Self {
        Self { flags: (0..threads).map(|_| Padded(Flag::new())).collect() }
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        call.raise(&self.flags[call.rank]);
        for other in others(call.rank, self.flags.len()) {
            call.wait_for(other, &self.flags[other])?;
        }
        Ok(())
    }
}
