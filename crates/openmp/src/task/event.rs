//! Events that tasks wait for besides their bodies (`detach`).

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::both::Both;
use super::{Explicit, Tasks, order};
use crate::here::{Membership, Region};

/// An event of a task, in the task. Any thread may fulfil it, once.
#[derive(Debug)]
pub struct Event {
    /// The task's body has ended, and the event is fulfilled.
    both: Both,
    /// Keeps the task until both have happened.
    task: *const Explicit,
    /// The tasks of its team, if the team has any.
    tasks: Option<Arc<Tasks>>,
    /// Its region otherwise, which stays until its events are fulfilled.
    region: *const Region<'static>,
}

impl Event {
    /// # Safety
    /// The task is in an `Arc`.
    pub(super) unsafe fn new(task: *const Explicit, membership: &Membership) -> Box<Self> {
        let tasks = membership.tasks().map(|tasks| {
            // SAFETY: a team's tasks are in an `Arc`.
            unsafe {
                Arc::increment_strong_count(ptr::from_ref(tasks));
                Arc::from_raw(ptr::from_ref(tasks))
            }
        });
        let region: &Region<'static> = membership.region();
        if tasks.is_none() {
            region.events.fetch_add(1, Relaxed);
        }
        // SAFETY: as the caller promises.
        unsafe { Arc::increment_strong_count(task) };
        Box::new(Self { both: Both::new(), task, tasks, region })
    }

    /// The task's body has ended; returns whether the event is fulfilled. If it is not, the task is over when it is.
    pub(super) fn body_has_ended(&self) -> bool {
        let is_fulfilled = self.both.one();
        if is_fulfilled {
            self.no_longer_waits();
            // SAFETY: counted by `new`; whoever runs the task has it, too.
            unsafe { Arc::decrement_strong_count(self.task) };
        }
        is_fulfilled
    }

    fn no_longer_waits(&self) {
        if self.tasks.is_none() {
            // SAFETY: the region waits for this.
            unsafe { (*self.region).events.fetch_sub(1, Release) };
        }
    }
}

/// Fulfils an event; if the task's body has ended, the task is over.
///
/// # Safety
/// It is some task's, and has not been fulfilled.
pub unsafe fn fulfil(event: *const Event) {
    // SAFETY: as the caller promises; the task keeps it until it is over.
    let event = unsafe { &*event };
    if !event.both.other() {
        return;
    }
    // SAFETY: counted by `new`.
    let task = unsafe { Arc::from_raw(event.task) };
    let Some(tasks) = event.tasks.clone() else {
        task.frame.finish();
        event.no_longer_waits();
        return;
    };
    for follower in order::finish(&task) {
        tasks.free(follower);
    }
    task.frame.finish();
    drop(task);
    tasks.ended.ring();
    tasks.fulfilled.fetch_add(1, Release);
    tasks.offered.ring();
}

impl Membership {
    /// Waits until the events of a region of one thread are fulfilled.
    #[inline]
    pub fn await_events(&self) {
        let events = &self.region().events;
        if self.member().is_none() && self.region().level > 0 && events.load(Acquire) > 0 {
            super::wait_until(|| events.load(Acquire) == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::here;

    unsafe extern "C-unwind" fn nothing(_data: *mut libc::c_void) {}

    #[test]
    fn a_task_is_over_when_both_have_happened_whichever_is_first() {
        for fulfilled_first in [false, true] {
            let membership = here();
            let task = Explicit::prepared(membership, nothing, std::alloc::Layout::new::<usize>(), false);
            // SAFETY: the test's own.
            let event = unsafe { Explicit::add_event(Arc::as_ptr(&task), membership) };
            assert_eq!(Arc::strong_count(&task), 2, "the event keeps the task");
            Explicit::count(&task, membership, None);
            let children = || membership.task().children.load(Relaxed);
            assert_eq!(children(), 1);
            let fulfil = || {
                std::thread::scope(|scope| {
                    let event = event.addr();
                    // SAFETY: as above.
                    scope.spawn(move || unsafe { fulfil(std::ptr::with_exposed_provenance(event)) });
                })
            };
            event.expose_provenance();
            if fulfilled_first {
                fulfil();
                assert_eq!(children(), 1);
                assert!(task.complete(membership));
            } else {
                assert!(!task.complete(membership));
                assert_eq!(children(), 1);
                fulfil();
            }
            assert_eq!((children(), Arc::strong_count(&task)), (0, 1));
            assert_eq!(membership.region().events.load(Relaxed), 0);
        }
    }
}
