//! How long a thread spins before it sleeps, learnt from how its waits ended.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::sync;
use crate::wait::policy::{Crowding, WaitPolicy};

/// Nanoseconds of spinning at the beginning: about what sleeping and waking cost, so that the wait costs at most
/// twice the best choice.
const START: u32 = 50_000;
/// The least; what is left with a busy neighbour.
const FLOOR: u32 = 5_000;

/// One thread's patience, on a line that it alone writes: it orders nothing, so it is kept from the model checker.
#[derive(Debug)]
pub(crate) struct Patience {
    /// Nanoseconds to spin; [`u32::MAX`] without end.
    spin_ns: AtomicU32,
    ceiling_ns: u32,
    first_looks: u32,
    gives_way: bool,
}

impl Patience {
    pub(crate) fn new(policy: &WaitPolicy, crowding: Crowding) -> Self {
        let ceiling_ns = match (policy.ceiling_ns(), crowding) {
            (u32::MAX, _) => u32::MAX,
            (ceiling, Crowding::None) => ceiling,
            // Who spins keeps those whom it waits for from running.
            (_, Crowding::Threads) => 0,
            // Who spins uses up what the group may use.
            (ceiling, Crowding::Quota) => ceiling.min(FLOOR),
        };
        let start = if ceiling_ns == u32::MAX { ceiling_ns } else { START.min(ceiling_ns) };
        let first_looks = if ceiling_ns < FLOOR { 1 } else { sync::first_looks() };
        let gives_way = crowding == Crowding::Threads && *policy != WaitPolicy::Passive;
        Self { spin_ns: AtomicU32::new(start), ceiling_ns, first_looks, gives_way }
    }

    /// Whether to yield the CPU for a while before sleeping.
    pub(crate) fn gives_way(&self) -> bool {
        self.gives_way
    }

    /// Looks to take before the clock is read.
    #[inline(always)]
    pub(crate) fn first_looks(&self) -> u32 {
        self.first_looks
    }

    pub(crate) fn spin_ns(&self) -> u64 {
        match self.spin_ns.load(Relaxed) {
            u32::MAX => u64::MAX,
            ns => ns.into(),
        }
    }

    /// The thread was itself taken off its CPU while it spun: somebody else wants to run there.
    pub(crate) fn was_away(&self) {
        self.shrink();
    }

    /// The thread slept, and the whole wait took so many nanoseconds.
    pub(crate) fn slept(&self, waited_ns: u64) {
        if waited_ns > self.ceiling_ns.into() {
            // Whom it waited for was off its CPU or had much to do: spinning longer would not have helped.
            self.shrink();
        } else {
            let longer = self.spin_ns.load(Relaxed).saturating_mul(2);
            self.spin_ns.store(longer.min(self.ceiling_ns), Relaxed);
        }
    }

    fn shrink(&self) {
        let spin = self.spin_ns.load(Relaxed);
        if spin != u32::MAX {
            self.spin_ns.store((spin / 2).max(FLOOR.min(self.ceiling_ns)), Relaxed);
        }
    }
}
