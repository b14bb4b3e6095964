//! The end of a task's body, and its event.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::both::Both;
use crate::check;
use crate::sync::{Mistake, make};

struct Task {
    both: Both,
    /// What the body has done, and what who fulfils the event has done before.
    done: [UnsafeCell<bool>; 2],
}

// SAFETY: loom itself checks every access.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

impl Task {
    /// Does one of the two, and what is to be done after both; returns whether that was here.
    fn happen(&self, which: usize) -> bool {
        // SAFETY: loom checks.
        self.done[which].with_mut(|done| unsafe { *done = true });
        let is_second = if which == 0 { self.both.one() } else { self.both.other() };
        if is_second {
            // SAFETY: loom checks.
            assert!(self.done.iter().all(|done| done.with(|done| unsafe { *done })));
        }
        is_second
    }
}

fn one_task() {
    let done = [UnsafeCell::new(false), UnsafeCell::new(false)];
    let task = Arc::new(Task { both: Both::new(), done });
    let fulfils = {
        let task = Arc::clone(&task);
        thread::spawn(move || task.happen(1))
    };
    let body_was_second = task.happen(0);
    assert_ne!(body_was_second, fulfils.join().unwrap(), "one of them ends the task");
}

#[test]
fn the_second_ends_the_task_and_sees_what_the_first_has_done() {
    check(3, one_task);
}

#[test]
fn an_exchange_that_orders_nothing_is_found() {
    make(Mistake::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| check(3, one_task))).is_err());
    make(Mistake::None);
}
