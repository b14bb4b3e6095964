//! Barriers: nobody leaves before all have arrived.

mod algorithm;
mod auto;
mod builder;
mod call;
mod central;
mod counter;
mod dissemination;
mod fbs;
mod groups;
mod hierarchical;
mod lend;
#[cfg(feature = "topology")]
mod levels;
mod one_line;
mod pair;
mod rounds;
mod tournament;

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub use algorithm::Algorithm;
pub use auto::Latencies;
pub(crate) use builder::crowding;
pub use builder::{BarrierBuilder, MAX_THREADS};
pub(crate) use call::{Call, Rank};
use central::Central;
use counter::{Atomic, InMutex, InSpinLock};
use fbs::SeparateLines;
use one_line::OneLine;
use pair::Pair;
use rounds::Rounds;
use tournament::Tournament;

use crate::number::next;
use crate::padded::Padded;
use crate::sync::{AtomicBool, now};
use crate::wait::{Bell, Ended, Limits, Patience, Unless, Waiter};
use crate::watchdog::{Late, Watchdog};

/// A barrier for a fixed number of threads, each of which has a rank of its own.
///
/// What a thread did before it arrived is visible to every thread that has left the barrier.
///
/// ```
/// use coho_sync::{Algorithm, Barrier};
/// let barrier = Barrier::new(Algorithm::Fbs, 2)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| barrier.wait(1));
///     barrier.wait(0);
/// });
/// # Ok::<(), coho_sync::Error>(())
/// ```
pub struct Barrier {
    ranks: Box<[Padded<Rank>]>,
    kind: Kind,
    algorithm: Algorithm,
    watchdog: Option<Watchdog>,
}

enum Kind {
    Pair(Pair),
    SeparateLines(SeparateLines),
    OneLine(OneLine),
    Lock(Central<InMutex>),
    SpinLock(Central<InSpinLock>),
    Central(Central<Atomic>),
    Tournament(Tournament),
    Rounds(Rounds),
}

/// A wait took longer than its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    /// The ranks that have not arrived, in ascending order. It may be empty: the last may arrive just after the time
    /// is up.
    pub missing: Vec<usize>,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the barrier took too long; ranks that have not arrived: {:?}", self.missing)
    }
}

impl std::error::Error for TimedOut {}

impl Barrier {
    /// A barrier with the given algorithm and number of threads, and the default way of waiting.
    ///
    /// # Errors
    /// [`Error::Size`](crate::Error::Size) unless there are 1 to [`MAX_THREADS`] threads;
    /// [`Error::Argument`](crate::Error::Argument) for a radix or arity below 2.
    pub fn new(algorithm: Algorithm, threads: usize) -> Result<Self, crate::Error> {
        Self::builder(threads).algorithm(algorithm).build()
    }

    /// Builds a barrier with more options.
    pub fn builder(threads: usize) -> BarrierBuilder<'static> {
        BarrierBuilder::new(threads)
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.ranks.len()
    }

    /// The algorithm; instead of [`Algorithm::Auto`], the one that it chose.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Arrives as `rank` and waits until all have arrived. Only one thread at a time may use a rank. Otherwise the
    /// barrier is no longer a barrier (but still memory-safe).
    ///
    /// # Panics
    /// If `rank` is not below [`Barrier::threads`].
    #[inline]
    pub fn wait(&self, rank: usize) {
        self.wait_within(rank, Unless::Never).expect("without a limit only the last arrival ends a wait");
    }

    /// As [`Barrier::wait`], but waits for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`] with the missing ranks. The arrival still counts: this rank's next wait continues with the same
    /// barrier.
    ///
    /// # Panics
    /// If `rank` is not below [`Barrier::threads`].
    pub fn wait_timeout(&self, rank: usize, limit: Duration) -> Result<(), TimedOut> {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let limits = Limits { until_ns: Some(now().saturating_add(limit_ns)), ..Limits::NONE };
        self.wait_within(rank, Unless::Limited(&limits)).map_err(|_| TimedOut { missing: self.missing(rank) })
    }

    /// As [`Barrier::wait`], unless `interrupt` is set and [`Barrier::wake`] called.
    #[inline]
    pub(crate) fn wait_unless(&self, rank: usize, interrupt: &AtomicBool) -> Result<(), Ended> {
        self.wait_within(rank, Unless::Interrupted(interrupt))
    }

    /// As [`Barrier::wait`], within limits.
    pub(crate) fn wait_limited(&self, rank: usize, limits: &Limits<'_>) -> Result<(), Ended> {
        self.wait_within(rank, Unless::Limited(limits))
    }

    #[inline(always)]
    fn wait_within(&self, rank: usize, unless: Unless<'_>) -> Result<(), Ended> {
        match &self.watchdog {
            None => self.arrive(rank, unless),
            Some(watchdog) => self.arrive_watched(rank, unless, watchdog),
        }
    }

    /// A separate function, so that barriers without a watchdog do not pay for one.
    #[inline(never)]
    fn arrive_watched(&self, rank: usize, unless: Unless<'_>, watchdog: &Watchdog) -> Result<(), Ended> {
        let report = |waited| {
            watchdog.report(&Late { rank, waited, missing: self.missing(rank) });
            None
        };
        let limits = Limits { watch: Some((watchdog.patience, &report)), ..unless.limits() };
        self.arrive(rank, Unless::Limited(&limits))
    }

    #[inline(always)]
    fn arrive(&self, rank: usize, unless: Unless<'_>) -> Result<(), Ended> {
        let me = &self.ranks[rank];
        let previous = me.left.load(Relaxed);
        let number = next(previous);
        let again = me.arrived.load(Relaxed) == number;
        me.arrived.store(number, Relaxed);
        let waiter = Waiter { patience: &me.patience, unless };
        // Created separately for each algorithm: passed to one function, it would be laid out in memory for all of
        // them.
        let call = || Call { ranks: &self.ranks, me, rank, previous, number, again, waiter };
        match &self.kind {
            Kind::Pair(pair) => pair.wait(call()),
            Kind::SeparateLines(fbs) => fbs.wait(call()),
            _ => self.arrive_otherwise(call()),
        }?;
        me.left.store(number, Relaxed);
        Ok(())
    }

    /// A separate function, so that the others' code does not slow down the quickest algorithms.
    #[inline(never)]
    fn arrive_otherwise(&self, call: Call<'_>) -> Result<(), Ended> {
        match &self.kind {
            Kind::Pair(pair) => pair.wait(call),
            Kind::SeparateLines(fbs) => fbs.wait(call),
            Kind::OneLine(fbs) => fbs.wait(call),
            Kind::Lock(central) => central.wait(call),
            Kind::SpinLock(central) => central.wait(call),
            Kind::Central(central) => central.wait(call),
            Kind::Tournament(tournament) => tournament.wait(call),
            Kind::Rounds(rounds) => rounds.wait(call),
        }
    }

    /// The ranks that have not arrived at the barrier that `rank` waits at.
    fn missing(&self, rank: usize) -> Vec<usize> {
        let previous = self.ranks[rank].left.load(Relaxed);
        let late = |&other: &usize| self.ranks[other].arrived.load(Relaxed) == previous;
        (0..self.threads()).filter(late).collect()
    }

    /// What a rank has learnt about waiting, for its thread's other waits.
    pub(crate) fn patience(&self, rank: usize) -> &Patience {
        &self.ranks[rank].patience
    }

    /// Wakes all sleepers, so that they see their interrupt.
    pub(crate) fn wake(&self) {
        self.each_bell(Bell::wake);
    }

    /// Wakes sleepers so that they see new idle work. Call it after publishing the work.
    pub(crate) fn ring(&self) {
        self.each_bell(Bell::ring);
    }

    /// All bells at which ranks may sleep.
    fn each_bell(&self, act: impl Fn(&Bell)) {
        match &self.kind {
            Kind::Lock(central) => act(central.bell()),
            Kind::SpinLock(central) => act(central.bell()),
            Kind::Central(central) => act(central.bell()),
            Kind::Pair(pair) => act(pair.bell()),
            Kind::SeparateLines(fbs) => act(fbs.bell()),
            Kind::OneLine(fbs) => act(fbs.bell()),
            Kind::Tournament(_) | Kind::Rounds(_) => self.ranks.iter().for_each(|rank| act(&rank.bell)),
        }
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Barrier({}, {} threads)", self.algorithm, self.threads())
    }
}
