//! A task as its queries and its children see it: explicit ones, and the implicit one that each member of a region runs.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::settings::Variables;
use crate::task::{Explicit, Group, Latest};

/// What every task has.
#[derive(Debug)]
pub struct Frame {
    pub parent: Option<Parent>,
    /// 0 for an implicit task.
    pub depth: u32,
    pub is_final: bool,
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
#[derive(Debug)]
pub enum Parent {
    /// It outlives all tasks of its region.
    Implicit(*const Frame),
    Explicit(Arc<Explicit>),
}

impl Frame {
    pub const fn implicit() -> Self {
        Self {
            parent: None,
            depth: 0,
            is_final: false,
            variables: Cell::new(None),
            group: Cell::new(ptr::null()),
            children: AtomicUsize::new(0),
            latest: RefCell::new(None),
        }
    }

    /// Whether the task has been made by `other`, or by one that has.
    pub fn descends_from(&self, other: &Self) -> bool {
        let mut ancestor = self;
        while ancestor.depth > other.depth {
            ancestor = match &ancestor.parent {
                // SAFETY: an implicit task outlives the explicit ones of its region.
                Some(Parent::Implicit(frame)) => unsafe { &**frame },
                Some(Parent::Explicit(task)) => task.frame(),
                None => return false,
            };
        }
        ptr::eq(ancestor, other)
    }
}
