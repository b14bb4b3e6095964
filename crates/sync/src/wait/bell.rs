//! Where threads sleep until somebody has taken a step.

use std::time::Duration;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicU32, Futex, can_fence_everybody, cpu, full_fence, heavy_fence, light_fence};
use crate::wait::Crowding;

/// How long a sleeper trusts in being woken where the kernel refuses to fence the others.
const UNFENCED: Duration = Duration::from_millis(1);

/// Wakes those who sleep for others' next steps.
///
/// Who takes the step pays one look at a line that nobody writes as long as nobody sleeps: no fence and no
/// read-modify-write. The sleeper pays instead, by a fence that the kernel runs on every thread (membarrier). Among
/// threads that outnumber the CPUs most sleep at every step; there each who takes one pays for a fence of its own, which
/// costs less than to interrupt the other CPUs.
#[derive(Debug)]
pub(crate) struct Bell {
    sleepers: AtomicU32,
    rings: Futex,
    /// Whether who rings pays for a fence.
    fences: bool,
    /// The CPU of who rang last. Orders nothing, so it is kept from the model checker.
    rung_on: std::sync::atomic::AtomicU32,
}

impl Bell {
    pub(crate) fn new(crowding: Crowding) -> Self {
        Self {
            fences: crowding == Crowding::Threads || !can_fence_everybody(),
            sleepers: AtomicU32::new(0),
            rings: Futex::new(),
            rung_on: std::sync::atomic::AtomicU32::new(u32::MAX),
        }
    }

    /// To be called after the store that others may sleep for.
    #[inline(always)]
    pub(crate) fn ring(&self) {
        if self.is_awaited() {
            self.wake();
        }
    }

    /// To be asked after the store that others may sleep for: whether there are any, who have to be woken.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        if self.fences {
            full_fence()
        } else {
            light_fence()
        }
        self.sleepers.load(Relaxed) != 0
    }

    /// Wakes sleepers who need the steps of several threads, each of which comes here after its own if the bell is
    /// awaited, once all steps are taken, so that nobody is woken in vain.
    pub(crate) fn wake_if(&self, all_taken: &dyn Fn() -> bool) {
        // Of two who take the last steps at the same time, at least one sees both.
        full_fence();
        if all_taken() {
            self.wake();
        }
    }

    /// Wakes all who sleep or are about to.
    #[cold]
    pub(crate) fn wake(&self) {
        self.rung_on.store(cpu(), Relaxed);
        self.rings.advance();
        self.rings.wake_all();
    }

    /// Sleeps until rung, or for no reason, at most for `limit`, and not at all once `done`. Returns the CPU of who has
    /// rung meanwhile.
    pub(crate) fn sleep(&self, done: &dyn Fn() -> bool, limit: Option<Duration>) -> Option<u32> {
        self.sleepers.fetch_add(1, Relaxed);
        let seen = self.rings.load();
        // Either this thread sees the step, or who took it sees a sleeper and changes what `seen` was read from.
        let is_ordered = if self.fences {
            full_fence();
            true
        } else {
            heavy_fence()
        };
        let limit = if is_ordered { limit } else { Some(limit.map_or(UNFENCED, |l| l.min(UNFENCED))) };
        if !done() {
            self.rings.wait(seen, limit);
        }
        self.sleepers.fetch_sub(1, Relaxed);
        (self.rings.load() != seen).then(|| self.rung_on.load(Relaxed))
    }
}
