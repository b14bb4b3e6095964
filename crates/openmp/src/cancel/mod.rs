//! Cancelled regions, loops, sections and task groups, if the user allows that (`OMP_CANCELLATION`).
//!
//! A team's own barrier cannot be left before all have come. So the members of a region that may be cancelled meet at a
//! counter.

mod gathering;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use gathering::Gathering;

use crate::frame::Frame;
use crate::here::Membership;
use crate::settings::settings;
use crate::task::{Bell, Wait};

/// What a program cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Region,
    /// The loop or the sections that the members share out.
    Sharing,
    /// The innermost task group.
    Group,
}

/// What the members of a region have of it in common.
#[derive(Debug, Default)]
pub struct Cancel {
    region: Gathering,
    /// Until the members have met.
    sharing: AtomicBool,
    bell: Bell,
}

/// Looks before a waiting member yields or sleeps.
const LOOKS: u32 = 1000;

impl Membership {
    /// Cancels a construct that this member is in; returns whether it must leave it.
    pub fn cancel(&self, what: What) -> bool {
        if !settings().cancels {
            return false;
        }
        let (cancel, group) = (&self.region().cancel, self.task().group());
        match (what, group) {
            (What::Group, Some(group)) => group.cancelled_with().is_cancelled.store(true, Relaxed),
            (What::Group, None) => {}
            // Threads outside all regions have nothing in common.
            _ if self.region().level == 0 => {}
            (What::Sharing, _) => cancel.sharing.store(true, Relaxed),
            (What::Region, _) => {
                cancel.region.cancel();
                self.ring();
            }
        }
        true
    }

    /// Whether it must leave a construct.
    pub fn is_cancelled(&self, what: What) -> bool {
        if !settings().cancels {
            return false;
        }
        let cancel = &self.region().cancel;
        match what {
            What::Region => cancel.region.is_cancelled(),
            What::Sharing => cancel.sharing.load(Relaxed),
            What::Group => self.discards(self.task()),
        }
    }

    /// Whether a task that has not begun never will.
    #[inline(always)]
    pub fn discards(&self, task: &Frame) -> bool {
        settings().cancels && self.finds_cancelled(task)
    }

    #[cold]
    fn finds_cancelled(&self, task: &Frame) -> bool {
        self.region().cancel.region.is_cancelled()
            || task.group().is_some_and(|group| group.cancelled_with().is_cancelled.load(Relaxed))
    }

    fn ring(&self) {
        self.tasks().map_or(&self.region().cancel.bell, |tasks| tasks.bell_for_all()).ring();
    }

    /// The members' barrier, by which all tasks are done, unless the region is cancelled; returns whether it is.
    #[cold]
    pub fn meet(&self) -> bool {
        let cancel = &self.region().cancel;
        if self.member().is_none() {
            self.await_events();
            cancel.sharing.store(false, Relaxed);
            return cancel.region.is_cancelled();
        }
        if cancel.region.is_cancelled() {
            return true;
        }
        if let Some(tasks) = self.tasks() {
            tasks.finish(self);
        }
        match cancel.region.arrive(self.size(), || cancel.sharing.store(false, Relaxed)) {
            None => self.ring(),
            Some(number) => {
                let is_over = || cancel.region.is_over(number);
                match self.tasks() {
                    // Others may still create some.
                    Some(tasks) => tasks.do_any_until(self, is_over),
                    None => wait(&cancel.bell, is_over),
                }
            }
        }
        self.task().latest.take();
        cancel.region.is_cancelled()
    }
}

fn wait(bell: &Bell, is_over: impl Fn() -> bool) {
    let (mut looks, mut wait) = (0, Wait::default());
    while !is_over() {
        if looks < LOOKS {
            looks += 1;
            std::hint::spin_loop();
        } else {
            wait.go_on(bell, &is_over);
        }
    }
}

/// Constructs by gcc's numbers.
fn gnus(which: i32) -> What {
    const LOOP_OR_SECTIONS: i32 = 2 | 4;
    const GROUP: i32 = 8;
    match which {
        _ if which & LOOP_OR_SECTIONS != 0 => What::Sharing,
        _ if which & GROUP != 0 => What::Group,
        _ => What::Region,
    }
}

/// And by LLVM's.
fn llvms(which: i32) -> What {
    match which {
        2 | 3 => What::Sharing,
        4 => What::Group,
        _ => What::Region,
    }
}

/// The entries of both compilers.
pub mod entries {
    use std::ffi::c_void;

    use super::{gnus, llvms};
    use crate::here::here;
    use crate::truth::Truth;

    pub extern "C-unwind" fn barrier() -> bool {
        here().barrier()
    }

    pub extern "C" fn cancel(which: i32, cancels: Truth) -> bool {
        if cancels.holds() { here().cancel(gnus(which)) } else { cancellation_point(which) }
    }

    pub extern "C" fn cancellation_point(which: i32) -> bool {
        here().is_cancelled(gnus(which))
    }

    pub extern "C-unwind" fn kmp_barrier() -> i32 {
        here().barrier().into()
    }

    pub extern "C" fn kmp_cancel(_place: *const c_void, _number: i32, which: i32) -> i32 {
        here().cancel(llvms(which)).into()
    }

    pub extern "C" fn kmp_status(which: i32) -> i32 {
        here().is_cancelled(llvms(which)).into()
    }

    pub extern "C" fn kmp_cancellation_point(_place: *const c_void, _number: i32, which: i32) -> i32 {
        here().is_cancelled(llvms(which)).into()
    }
}
