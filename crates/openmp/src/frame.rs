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
    /// Whether its parent and its group count it as unfinished; not if it is executed where it is created.
    pub is_counted: bool,
    /// It has finished.
    is_finished: AtomicBool,
    /// The task's own variables; `None` if they are its region's. Only the task itself writes them.
    pub variables: Cell<Option<Variables>>,
    /// The innermost task group that new tasks belong to. Written by the thread that runs the task.
    pub group: Cell<*const Group>,
    /// Children that are not finished.
    pub children: AtomicUsize,
    /// Children that others may depend on. Used by the thread that runs the task.
    pub latest: RefCell<Option<Box<Latest>>>,
}

/// The task that created an explicit task.
#[derive(Debug, Clone)]
pub enum Parent {
    /// It outlives all tasks of its region.
    Implicit(*const Frame),
    Explicit(Arc<Explicit>),
}

/// The nearest ancestor that was not finished when the task began, or when it ended: finished tasks are not kept for
/// their descendants. Those that have finished since and are still kept were all running at the same time, so stacks
/// bound their number.
///
/// Before the task begins, only its holder looks here; afterwards it is written by the thread that runs the task, under
/// the lock, and read by others under the lock.
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

    /// The innermost task group.
    pub fn group(&self) -> Option<&Group> {
        // SAFETY: a group lives until its tasks have finished; only the thread that began it ends it.
        unsafe { self.group.get().as_ref() }
    }

    /// Whether there may be children that others depend on.
    #[inline(always)]
    pub fn has_latest(&self) -> bool {
        self.latest.try_borrow().map_or(true, |latest| latest.is_some())
    }

    /// Has its parent and its group count it as unfinished.
    #[inline(always)]
    pub fn count(&mut self, parent: &Self) {
        parent.children.fetch_add(1, Relaxed);
        let group = self.group.get();
        if !group.is_null() {
            // SAFETY: the group is alive until its tasks are finished, and one of them makes this one.
            unsafe { (*group).unfinished.fetch_add(1, Relaxed) };
        }
        self.is_counted = true;
    }

    /// A task created by another, which is given by a link.
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

    /// Whether the task, which has not begun, was created by `other`, which runs, or by one of its descendants.
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

    /// The nearest ancestor that is kept.
    fn above(&self) -> Option<Parent> {
        self.parent.lock.lock();
        // SAFETY: it is written under the lock.
        let nearest = unsafe { (*self.parent.nearest.get()).clone() };
        self.parent.lock.unlock();
        nearest
    }

    /// Drops finished ancestors. Called by the thread that runs the task, before it begins and when it has ended.
    #[inline(always)]
    pub fn leave_out_finished(&self) {
        // SAFETY: only this thread writes it.
        if let Some(Parent::Explicit(parent)) = unsafe { &*self.parent.nearest.get() }
            && parent.frame().is_finished.load(Relaxed)
        {
            self.leave_out(parent.clone());
        }
    }

    /// The ancestors above a finished task are read from the task under its lock, so the mark need not order anything.
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
        // Outside the lock: this may be the last reference to the finished tasks.
        drop(before);
    }

    /// The task that created it, unless that is finished. Called by the thread that runs the task.
    #[inline(always)]
    pub fn parent(&self) -> Option<&Self> {
        // SAFETY: only this thread writes it.
        let nearest = unsafe { (*self.parent.nearest.get()).as_ref()?.frame() };
        (nearest.depth + 1 == self.depth).then_some(nearest)
    }

    /// Marks it as ended, so that its descendants need not keep it.
    #[inline(always)]
    pub fn is_over(&self) {
        self.is_finished.store(true, Relaxed);
        self.leave_out_finished();
    }
}
