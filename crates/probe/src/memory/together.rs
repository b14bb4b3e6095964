//! Threads that move data at the same time: all are under way while any is timed.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

/// How long to wait for the others; a thread that is away for longer ends the visit for all.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where threads begin and end windows together.
#[derive(Debug)]
pub(super) struct Together {
    threads: usize,
    patience: Duration,
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// A thread has given up: the visit is over, even for one that arrives right then.
    left: AtomicBool,
}

impl Together {
    pub(super) fn of(threads: usize) -> Self {
        Self::patient(threads, PATIENCE)
    }

    fn patient(threads: usize, patience: Duration) -> Self {
        let [begun, ended] = [0, 0].map(AtomicUsize::new);
        Self { threads, patience, begun, ended, left: AtomicBool::new(false) }
    }

    /// Waits until all have reached this window, counted from 0; `false` if one does not arrive.
    pub(super) fn begin(&self, window: usize) -> bool {
        self.begun.fetch_add(1, AcqRel);
        let start = Instant::now();
        while self.begun.load(Acquire) < self.threads * (window + 1) {
            if start.elapsed() > self.patience {
                self.left.store(true, Release);
            }
            if self.is_over() {
                return false;
            }
            std::hint::spin_loop();
        }
        !self.is_over()
    }

    /// Records that the caller's window has been timed.
    pub(super) fn end(&self) {
        self.ended.fetch_add(1, AcqRel);
    }

    /// Whether all threads' windows have been timed, or the visit is over.
    pub(super) fn all_ended(&self, window: usize) -> bool {
        self.ended.load(Acquire) >= self.threads * (window + 1) || self.is_over()
    }

    /// Whether a thread has given up: in a window under way, the threads were then not all together.
    pub(super) fn is_over(&self) -> bool {
        self.left.load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_begins_a_window_alone() {
        let together = Together::patient(2, Duration::from_secs(3600));
        let come = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let all = |me: usize| {
            for window in 0..1000 {
                come[me].store(window + 1, Release);
                assert!(together.begin(window), "window {window} not at all");
                assert!(come[1 - me].load(Acquire) > window, "window {window} alone");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| all(1));
            all(0);
        });
        together.end();
        assert!(!together.all_ended(0));
        together.end();
        assert!(together.all_ended(0));
    }

    #[test]
    fn who_comes_as_the_other_gives_up_does_not_wait_for_its_end() {
        for step in 0..8 {
            let late = PATIENCE + step * Duration::from_millis(1) - Duration::from_millis(4);
            let together = Together::of(2);
            let window = || {
                if together.begin(0) {
                    together.end();
                    while !together.all_ended(0) {
                        std::hint::spin_loop();
                    }
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(late);
                    window();
                });
                window();
            });
        }
    }

    #[test]
    fn who_never_comes_is_not_waited_for() {
        let together = Together::of(2);
        assert!(!together.begin(0));
        // A thread that arrives too late neither begins alone nor waits for one that has left.
        assert!(!together.begin(0));
        assert!(together.all_ended(0));
    }
}
