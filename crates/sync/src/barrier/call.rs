//! One thread's arrival at a barrier, as the algorithms see it.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Awaited, Bell, Ended, Gap, Patience, Steps, Unless, Waiter};

/// The state of one rank. Only its thread writes it, except that sleepers register at the bell. Its numbers order
/// nothing between threads, so they are hidden from the model checker.
#[derive(Debug)]
pub(crate) struct Rank {
    /// The number of the last barrier that it has left.
    pub(crate) left: AtomicU8,
    /// The number of the last barrier that it has arrived at.
    pub(crate) arrived: AtomicU8,
    /// Rung after each step of the rank that others may wait for.
    pub(crate) bell: Bell,
    pub(crate) patience: Patience,
}

#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// All ranks, for algorithms whose threads wait at each other's bells.
    pub(crate) ranks: &'a [Padded<Rank>],
    /// The one that arrives.
    pub(crate) me: &'a Rank,
    pub(crate) rank: usize,
    /// The number of the previous barrier.
    pub(crate) previous: u8,
    /// The number of this barrier.
    pub(crate) number: u8,
    /// Whether the rank has arrived at this barrier before and given up waiting.
    pub(crate) again: bool,
    pub(crate) waiter: Waiter<'a>,
}

impl Call<'_> {
    /// Publishes this barrier's number in a flag that this rank writes; raising it once more changes nothing.
    #[inline(always)]
    pub(super) fn raise(&self, flag: &Flag) {
        flag.raise(self.number);
        self.me.bell.ring();
    }

    /// Waits until a flag that another rank writes shows this barrier's number or the next.
    #[inline(always)]
    pub(super) fn wait_for(&self, other: usize, flag: &Flag) -> Result<(), Ended> {
        self.waiter.until(flag, self.previous, &self.ranks[other].bell)
    }

    /// FBS: raises this rank's flag and waits for those of all others, which `flag` finds. Between looks it calls
    /// `pass`, and `gap` has learnt how far apart looks should be. Sleepers wait at one bell, and are woken once, by
    /// the last to arrive.
    ///
    /// The next barrier's flag should be raised soon after the last look of this one, so the usual case does little and
    /// stays in registers. The rest is a separate function; if it were given a struct, that would be laid out in memory
    /// each time.
    #[inline(always)]
    pub(crate) fn exchange<'f>(
        self,
        threads: usize,
        flag: impl Fn(usize) -> &'f Flag + Copy,
        bell: &Bell,
        (gap, pass): (&Gap, impl Fn(Steps, &Flag)),
    ) -> Result<(), Ended> {
        flag(self.rank).raise(self.number);
        if bell.is_awaited() {
            wake_if_last(self.me, self.rank, threads, flag, bell);
        }
        let steps = gap.steps();
        let sees = |other| {
            let flag = flag(other);
            self.waiter.sees(flag, self.previous, || pass(steps, flag))
        };
        let is_over = if threads == 2 { sees(self.rank ^ 1) } else { others(self.rank, threads).all(sees) };
        if !is_over {
            keep_on(self.me, self.rank, self.waiter.unless, threads, flag, bell)?;
        }
        if self.rank == 0 {
            gap.count();
        }
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn wake_if_last<'f>(me: &Rank, rank: usize, threads: usize, flag: impl Fn(usize) -> &'f Flag, bell: &Bell) {
    let previous = me.left.load(Relaxed);
    bell.wake_if(&|| matches!(awaited(rank, threads, previous, &flag), Awaited::Nothing));
}

#[cold]
#[inline(never)]
fn keep_on<'f>(
    me: &Rank,
    rank: usize,
    unless: Unless<'_>,
    threads: usize,
    flag: impl Fn(usize) -> &'f Flag,
    bell: &Bell,
) -> Result<(), Ended> {
    let previous = me.left.load(Relaxed);
    Waiter { patience: &me.patience, unless }.keep_on(&|| awaited(rank, threads, previous, &flag), bell)
}

/// A flag that another rank has not yet raised.
fn awaited<'f>(rank: usize, threads: usize, previous: u8, flag: impl Fn(usize) -> &'f Flag) -> Awaited<'f> {
    let missing = others(rank, threads).map(flag).find(|flag| !flag.has_left(previous));
    missing.map_or(Awaited::Nothing, Awaited::Flag)
}

/// The other ranks, beginning with the next, so that not all look at the same line at the same time.
#[inline(always)]
pub(super) fn others(rank: usize, threads: usize) -> impl Iterator<Item = usize> {
    (rank + 1..threads).chain(0..rank)
}
