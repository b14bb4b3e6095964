//! A task as its queries and its children see it: explicit ones, and the implicit one that each member of a region runs.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::lock::Lock;
use crate::settings::Variables;
use crate::task::{Explicit, Group, Latest};

/// What every task has.
#[derive(Debug)]
pub struct Frame {
    parent: Line,
    /// 0 for an implicit task.
    pub depth: u32,
    pub is_final: bool,
    /// Its parent and its group know that it is unfinished: not of what is done where it is made.
    pub is_counted: bool,
    /// It waits for nothing any more.
    is_finished: AtomicBool,
    /// The task's own; none: as its region's. Written by nobody else.
    pub variables: Cell<Option<Variables>>,
    /// The innermost task group that new tasks belong to. Written by the thread that runs the task.
    pub group: Cell<*const Group>,
    /// Children that are not finished.
    pub children: AtomicUsize,
    /// Those that others may depend on. Used by the thread that runs the task.
    pub latest: RefCell<Option<Box<Latest>>>,
}

/// What has made an explicit task.
#[derive(Debug, Clone)]
pub enum Parent {
    /// It outlives all tasks of its region.
    Implicit(*const Frame),
    Explicit(Arc<Explicit>),
}

/// The nearest above a task that was not finished when the task began, or when it ended: finished ones are not kept for their
/// descendants. Of those kept all the same, which have been finished since, all were at work at a time, so that stacks bound
/// how many there can be.
///
/// Before the task begins, only who holds it looks here; afterwards it is written by the thread that runs the task, under the
/// lock, and read by others under the lock.
#[derive(Debug, Default)]
struct Line {
    nearest: UnsafeCell<Option<Parent>>,
    lock: Lock,
}

impl Parent {
    #[inline(always)]
    fn frame(&self) -> &Frame {
        match self {
            // SAFETY: an implicit task outlives the explicit ones of its region.
            Self::Implicit(frame) => unsafe { &**frame },
            Self::Explicit(task) => task.frame(),
        }
    }
}

impl Frame {
    #[inline(always)]
    pub fn implicit() -> Self {
        Self {
            parent: Line::default(),
            depth: 0,
            is_final: false,
            is_counted: false,
            is_finished: AtomicBool::new(false),
            variables: Cell::new(None),
            group: Cell::new(ptr::null()),
            children: AtomicUsize::new(0),
            latest: RefCell::new(None),
        }
    }

    /// Whether there may be children that others depend on.
    #[inline(always)]
    pub fn has_latest(&self) -> bool {
        self.latest.try_borrow().map_or(true, |latest| latest.is_some())
    }

    /// A task that another makes, which is given by a link.
    #[inline(always)]
    pub fn below(parent: &Self, link: Parent, is_final: bool) -> Self {
        Self {
            parent: Line { nearest: UnsafeCell::new(Some(link)), lock: Lock::new() },
            depth: parent.depth + 1,
            is_final: is_final || parent.is_final,
            is_counted: false,
            is_finished: AtomicBool::new(false),
            variables: Cell::new(parent.variables.get()),
            group: Cell::new(parent.group.get()),
            children: AtomicUsize::new(0),
            latest: RefCell::new(None),
        }
    }

    /// Whether the task, which has not begun, has been made by `other`, which runs, or by one that has.
    pub fn descends_from(&self, other: &Self) -> bool {
        // SAFETY: the task belongs to the caller.
        let Some(parent) = (unsafe { &*self.parent.nearest.get() }) else { return false };
        if parent.frame().depth <= other.depth {
            return ptr::eq(parent.frame(), other);
        }
        let mut ancestor = parent.frame().above();
        while let Some(above) = &ancestor {
            if above.frame().depth <= other.depth {
                return ptr::eq(above.frame(), other);
            }
            ancestor = above.frame().above();
        }
        false
    }

    /// The nearest above that is kept.
    fn above(&self) -> Option<Parent> {
        self.parent.lock.lock();
        // SAFETY: it is written under the lock.
        let nearest = unsafe { (*self.parent.nearest.get()).clone() };
        self.parent.lock.unlock();
        nearest
    }

    /// Leaves out those above that are finished. Called by the thread that runs the task, before it begins and when it has
    /// ended.
    #[inline(always)]
    pub fn leave_out_finished(&self) {
        // SAFETY: only this thread writes it.
        if let Some(Parent::Explicit(parent)) = unsafe { &*self.parent.nearest.get() }
            && parent.frame().is_finished.load(Relaxed)
        {
            self.leave_out(parent.clone());
        }
    }

    /// What is left out of a finished task's line is found in the task under its lock, so that the mark orders nothing.
    #[cold]
    fn leave_out(&self, finished: Arc<Explicit>) {
        let mut nearest = finished.frame().above();
        while let Some(Parent::Explicit(parent)) = &nearest
            && parent.frame().is_finished.load(Relaxed)
        {
            nearest = parent.frame().above();
        }
        self.parent.lock.lock();
        // SAFETY: others look at it under the lock.
        let before = unsafe { std::mem::replace(&mut *self.parent.nearest.get(), nearest) };
        self.parent.lock.unlock();
        // Outside the lock: this may be the last that knows the finished ones.
        drop(before);
    }

    /// What has made it, unless that is finished. Called by the thread that runs the task.
    #[inline(always)]
    pub fn parent(&self) -> Option<&Self> {
        // SAFETY: only this thread writes it.
        let nearest = unsafe { (*self.parent.nearest.get()).as_ref()?.frame() };
        (nearest.depth + 1 == self.depth).then_some(nearest)
    }

    /// It has ended. Those below need not know it any more.
    #[inline(always)]
    pub fn is_over(&self) {
        self.is_finished.store(true, Relaxed);
        self.leave_out_finished();
    }
}
