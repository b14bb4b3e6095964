//! Where threads sleep until another thread has taken a step.

use std::time::Duration;

use crate::sync::Ordering::{AcqRel, Relaxed, Release};
use crate::sync::{AtomicU32, Futex, can_fence_everybody, cpu, full_fence, heavy_fence, light_fence};
use crate::wait::{Crowding, Reach};

/// The longest sleep if the kernel refuses to fence the others, since a wake-up may then be missed.
const UNFENCED: Duration = Duration::from_millis(1);

/// Wakes threads that sleep until others take their next steps.
///
/// The thread that takes a step pays one look at a line that is not written as long as no thread sleeps: no fence and
/// no read-modify-write. The sleeper pays instead, by a fence that the kernel runs on every thread (membarrier). If
/// threads outnumber the CPUs, most sleep at every step; then each thread that takes a step uses a fence of its own,
/// which costs less than interrupting the other CPUs.
#[derive(Debug)]
pub(crate) struct Bell {
    /// Not 0 if a thread sleeps that has not been woken: one that has been may wait long for its CPU, and needs no other ring.
    sleeps: AtomicU32,
    rings: Futex,
    /// Whether the ringing thread uses a fence of its own. Hidden from the model checker like the next.
    fences: std::sync::atomic::AtomicBool,
    reach: Reach,
    /// The CPU of the thread that rang last. It orders nothing, so it is hidden from the model checker.
    rung_on: std::sync::atomic::AtomicU32,
}

impl Bell {
    pub(crate) fn new(crowding: Crowding) -> Self {
        Self::of(Reach::Process, fences(crowding))
    }

    /// For threads of several processes, which use fences of their own until [`Bell::rely_on_the_kernel`].
    pub(crate) fn between_processes() -> Self {
        Self::of(Reach::Processes, true)
    }

    fn of(reach: Reach, fences: bool) -> Self {
        Self {
            fences: fences.into(),
            reach,
            sleeps: AtomicU32::new(0),
            rings: Futex::new(reach),
            rung_on: std::sync::atomic::AtomicU32::new(u32::MAX),
        }
    }

    /// Suits it to another crowding. No thread may sleep here or ring for a sleeper before it has seen what the caller
    /// does next.
    pub(crate) fn suit(&self, crowding: Crowding) {
        self.fences.store(fences(crowding), Relaxed);
    }

    /// As [`Bell::suit`], of processes all of which the kernel can fence, and which have CPUs for all threads.
    pub(crate) fn rely_on_the_kernel(&self) {
        self.fences.store(false, Relaxed);
    }

    /// Rings the bell. Call it after the store that others may be sleeping for.
    #[inline(always)]
    pub(crate) fn ring(&self) {
        if self.is_awaited() {
            self.wake_sleepers();
        }
    }

    /// As [`Bell::ring`], for a step for which another bell of the same crowding has been rung, and so fenced.
    pub(crate) fn ring_too(&self) {
        if self.sleeps.load(Relaxed) != 0 {
            self.wake_sleepers();
        }
    }

    /// Whether any threads sleep and must be woken. Call it after the store that they may be sleeping for.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        if self.fences.load(Relaxed) {
            full_fence()
        } else {
            light_fence()
        }
        self.sleeps.load(Relaxed) != 0
    }

    /// Wakes sleepers that need the steps of several threads, once all steps are taken, so that none is woken in vain.
    /// Each of these threads calls this after its own step, if the bell is awaited.
    pub(crate) fn wake_if(&self, all_taken: &dyn Fn() -> bool) {
        // If two threads take the last steps at the same time, at least one sees both.
        full_fence();
        if all_taken() {
            self.wake_sleepers();
        }
    }

    #[cold]
    fn wake_sleepers(&self) {
        if self.sleeps.swap(0, AcqRel) != 0 {
            self.wake();
        }
    }

    /// Wakes all threads that sleep or are about to.
    #[cold]
    pub(crate) fn wake(&self) {
        self.rung_on.store(cpu(), Relaxed);
        self.rings.advance();
        self.rings.wake_all();
    }

    /// Sleeps until the bell is rung, for at most `limit`, and not at all once `done`; may wake for no reason. Returns
    /// the CPU of a thread that rang meanwhile.
    pub(crate) fn sleep(&self, done: &dyn Fn() -> bool, limit: Option<Duration>) -> Option<u32> {
        let seen = self.rings.load();
        // Who takes this away, for another sleeper, changes the word after it was read above, so this thread wakes up, too.
        self.sleeps.fetch_or(1, Release);
        // Either this thread sees the step, or the thread that took it sees a sleeper and changes the word that `seen`
        // was read from.
        let is_ordered = if self.fences.load(Relaxed) {
            full_fence();
            true
        } else {
            heavy_fence(self.reach)
        };
        let limit = if is_ordered { limit } else { Some(limit.map_or(UNFENCED, |l| l.min(UNFENCED))) };
        if !done() {
            self.rings.wait(seen, limit);
        }
        (self.rings.load() != seen).then(|| self.rung_on.load(Relaxed))
    }
}

/// Whether ringing threads use fences of their own.
fn fences(crowding: Crowding) -> bool {
    crowding == Crowding::Threads || !can_fence_everybody(Reach::Process)
}
