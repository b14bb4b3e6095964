//! Threads that the system may refuse: `std::thread::spawn` panics if a limit on processes or memory is reached.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, scope};

/// The kernel's number of the calling thread. glibc has `gettid` only from 2.30 on.
pub fn number() -> libc::pid_t {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

/// Runs `work` on a thread of its own, which may end pinned or with counters of its own, and waits for it.
///
/// # Errors
/// The operating system's error, if it refuses the thread.
///
/// # Panics
/// With the panic of `work`.
pub fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Runs `work` for each rank below `count` on a thread of its own, all at the same time. If one thread is refused,
/// `work` runs on none: ranks that wait for each other would wait for ever.
///
/// # Errors
/// The operating system's error, if it refuses a thread.
///
/// # Panics
/// With a panic of `work`, after all have ended.
pub fn together<T: Send>(count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> io::Result<Vec<T>> {
    let gate = Gate::default();
    scope(|scope| {
        let start = |rank| {
            let gate = &gate;
            Builder::new().spawn_scoped(scope, move || gate.wait().then(|| work(rank)))
        };
        let started: io::Result<Vec<_>> = (0..count).map(start).collect();
        gate.open(started.is_ok());
        let done: Vec<_> = started?.into_iter().map(|thread| thread.join()).collect();
        let value = |done| match done {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(done.into_iter().filter_map(value).collect())
    })
}

/// Checks that `count` more threads can be created at once: libraries that start threads by themselves end the process
/// if one is refused.
///
/// # Errors
/// The operating system's error, if it refuses a thread.
pub fn can_start(count: usize) -> io::Result<()> {
    together(count, &|_| ()).map(drop)
}

/// Lets threads wait until it is decided whether they begin.
#[derive(Default)]
struct Gate {
    begin: Mutex<Option<bool>>,
    decided: Condvar,
}

impl Gate {
    fn open(&self, begin: bool) {
        *self.begin.lock().unwrap_or_else(PoisonError::into_inner) = Some(begin);
        self.decided.notify_all();
    }

    /// Whether to begin.
    fn wait(&self) -> bool {
        let begin = self.begin.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = self.decided.wait_while(begin, |begin| begin.is_none());
        begin.unwrap_or_else(PoisonError::into_inner).is_some_and(|begin| begin)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_ranks_run_at_the_same_time() {
        let barrier = Barrier::new(5);
        let ranks = together(5, &|rank| {
            barrier.wait();
            rank
        });
        assert_eq!(ranks.unwrap(), [0, 1, 2, 3, 4]);
        assert!(together(0, &|rank| rank).unwrap().is_empty());
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        assert!(std::panic::catch_unwind(|| apart(|| panic!("on purpose")).map(|()| 1)).is_err());
        let one =
            std::panic::catch_unwind(|| together(3, &|rank| assert!(rank != 1, "on purpose")).map(drop));
        assert!(one.is_err());
    }
}
