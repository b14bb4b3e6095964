//! Whether anything else wants the CPUs of this process's threads.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use super::patience::LINGERS;
use crate::sync::{now, preemptions};

/// Threads that wait at the same time share an answer that is not older: asking takes the kernel's lock on the process.
const STEP_NS: u64 = 40_000;

/// Nobody takes it to be quiet for this many times what a thread has lost.
const REST: u64 = 16;

static PROCESS: Quiet = Quiet::new();

/// Whether no thread of the process has been taken off its CPU since this was last asked, by any thread. `now` is on the
/// clock of [`now`].
///
/// A thread that is late because it works is better awaited awake. One that is late because something else has its CPU is
/// back the sooner the more CPUs are free; the kernel has counted that it was taken off.
pub(super) fn is_quiet(now: u64) -> bool {
    PROCESS.is_quiet(now, preemptions)
}

/// Whether a thread that has waited for this long, until now, should wait on awake, for a caller that waits by other means
/// than a team's and has a CPU for each of its threads: nothing else wants the CPUs, and it is not too long.
pub fn may_linger(waited: Duration) -> bool {
    waited.as_nanos() < u128::from(LINGERS) && is_quiet(now())
}

/// The calling thread was off its CPU for this long, until now: whatever took it wants CPUs for more than a moment.
pub(super) fn was_away(lost_ns: u64, now: u64) {
    PROCESS.was_away(lost_ns, now);
}

/// The answer to those who have asked last. It orders nothing, so it is hidden from the model checker.
#[derive(Debug)]
struct Quiet {
    /// When that was; 0 if nobody has asked.
    asked: AtomicU64,
    /// The count then.
    count: AtomicU64,
    answer: AtomicBool,
    /// When it may be quiet again.
    not_before: AtomicU64,
}

impl Quiet {
    const fn new() -> Self {
        Self {
            asked: AtomicU64::new(0),
            count: AtomicU64::new(0),
            answer: AtomicBool::new(true),
            not_before: AtomicU64::new(0),
        }
    }

    fn is_quiet(&self, now: u64, count: impl FnOnce() -> u64) -> bool {
        let asked = self.asked.load(Relaxed);
        let is_due = now.saturating_sub(asked) >= STEP_NS;
        if is_due && self.asked.compare_exchange(asked, now, Relaxed, Relaxed).is_ok() {
            let count = count();
            let before = self.count.swap(count, Relaxed);
            // The first time there is nothing to compare with.
            self.answer.store(count == before || asked == 0, Relaxed);
        }
        self.answer.load(Relaxed) && now >= self.not_before.load(Relaxed)
    }

    fn was_away(&self, lost_ns: u64, now: u64) {
        self.not_before.fetch_max(now + REST * lost_ns, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preemption_disturbs_until_a_step_without_one() {
        let quiet = Quiet::new();
        let ask = |step: u64, count| quiet.is_quiet(step * STEP_NS, || count);
        assert!(ask(5, 70), "what was before it began does not count");
        assert!(ask(6, 70));
        assert!(!ask(7, 71));
        assert!(ask(8, 71));
        assert!(!ask(30, 75) && ask(31, 75));
    }

    #[test]
    fn a_loss_disturbs_for_a_multiple_of_it() {
        let quiet = Quiet::new();
        let ask = |step: u64| quiet.is_quiet(step * STEP_NS, || 0);
        assert!(ask(5));
        quiet.was_away(3 * STEP_NS, 5 * STEP_NS);
        assert!(!ask(5 + 3 * REST - 1) && ask(5 + 3 * REST));
        // A smaller loss does not shorten it.
        quiet.was_away(9 * STEP_NS, 60 * STEP_NS);
        quiet.was_away(STEP_NS, 61 * STEP_NS);
        assert!(!ask(60 + 9 * REST - 1));
    }

    #[test]
    fn within_a_step_the_kernel_is_asked_once() {
        let quiet = Quiet::new();
        assert!(quiet.is_quiet(STEP_NS, || 1) && !quiet.is_quiet(2 * STEP_NS, || 2));
        assert!(!quiet.is_quiet(3 * STEP_NS - 1, || unreachable!()));
    }
}
