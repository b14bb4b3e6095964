//! One thread's arrival at a barrier, as the algorithms see it.

use std::sync::atomic::AtomicU8;

use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Awaited, Bell, Ended, Patience, Waiter};

/// What belongs to one rank. Only its thread writes it, but for sleepers who put themselves down at the bell. Its
/// numbers order nothing between threads, so they are kept from the model checker.
#[derive(Debug)]
pub(super) struct Rank {
    /// The number of the last barrier that it has left.
    pub(super) left: AtomicU8,
    /// The number of the last barrier that it has arrived at.
    pub(super) arrived: AtomicU8,
    /// Rung after each of its steps that others may wait for.
    pub(super) bell: Bell,
    pub(super) patience: Patience,
}

#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) ranks: &'a [Padded<Rank>],
    pub(super) rank: usize,
    /// The number of the barrier before this one.
    pub(super) previous: u8,
    /// The number of this barrier.
    pub(super) number: u8,
    /// Whether the rank has arrived at this barrier before and given up waiting.
    pub(super) again: bool,
    pub(super) waiter: Waiter<'a>,
}

impl Call<'_> {
    /// Publishes this barrier's number in a flag that this rank writes; raising it once more changes nothing.
    #[inline(always)]
    pub(super) fn raise(&self, flag: &Flag) {
        flag.raise(self.number);
        self.ranks[self.rank].bell.ring();
    }

    /// Waits until a flag that another rank writes shows this barrier's number or the next.
    #[inline(always)]
    pub(super) fn wait_for(&self, other: usize, flag: &Flag) -> Result<(), Ended> {
        self.waiter.until(flag, self.previous, &self.ranks[other].bell)
    }

    /// FBS: raises this rank's flag and waits for those of all others, which lie where `flag` says. Sleepers wait at one
    /// bell, and are woken once, by the last to arrive.
    #[inline(always)]
    pub(super) fn exchange<'f>(
        &self,
        threads: usize,
        flag: impl Fn(usize) -> &'f Flag,
        bell: &Bell,
        pause: impl Fn(),
    ) -> Result<(), Ended> {
        let awaited = || {
            let missing = others(self.rank, threads).map(&flag).find(|flag| !flag.has_left(self.previous));
            missing.map_or(Awaited::Nothing, Awaited::Flag)
        };
        flag(self.rank).raise(self.number);
        bell.ring_if(|| matches!(awaited(), Awaited::Nothing));
        for other in others(self.rank, threads) {
            if !self.waiter.sees(flag(other), self.previous, &pause) {
                return self.waiter.keep_on(&awaited, bell);
            }
        }
        Ok(())
    }
}

/// The other ranks, beginning with the next, so that not all look at the same line at the same time.
#[inline(always)]
pub(super) fn others(rank: usize, threads: usize) -> impl Iterator<Item = usize> {
    (rank + 1..threads).chain(0..rank)
}
