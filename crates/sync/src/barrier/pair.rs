//! FBS of two threads with both flags in one line.
//!
//! A thread's store fetches the line, and with it the partner's flag, so that a barrier takes one transfer: the
//! partner's, if the thread goes on quickly enough to raise its next flag before the line is taken away again. So there
//! is little between two flags here, and who waits looks no more often than pays.

use super::call::Call;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::Ended;

#[derive(Debug)]
pub(super) struct Pair(Padded<[Flag; 2]>);

impl Pair {
    pub(super) fn new() -> Self {
        Self(Padded([Flag::new(), Flag::new()]))
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        let (rank, other) = (call.rank & 1, call.rank & 1 ^ 1);
        call.raise(&self.0[rank]);
        call.wait_for_rarely(other, &self.0[other])
    }
}
