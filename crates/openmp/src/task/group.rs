//! Task groups: ending one waits for all tasks that were created within it, and for their descendants.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use super::Reduction;

/// A group, alive until all its tasks are finished.
#[derive(Debug)]
pub struct Group {
    /// The one around it in the same task.
    pub outer: *const Self,
    pub unfinished: AtomicUsize,
    /// Its tasks that have not begun never will.
    pub is_cancelled: AtomicBool,
    /// Whether it is that of a loop, of sections or of a scope. Written before there are tasks.
    pub is_of_construct: AtomicBool,
    /// What its tasks reduce. Written before there are tasks, and read by several at once.
    pub reduction: OnceLock<Box<Reduction>>,
    /// The same of gcc's, also of the groups around it. Written likewise.
    pub lists: AtomicPtr<usize>,
}

impl Group {
    /// # Safety
    /// The group around it is alive, or there is none.
    pub unsafe fn within(outer: *const Self) -> Self {
        // SAFETY: as the caller promises.
        let lists = unsafe { outer.as_ref() }.map_or(ptr::null_mut(), |outer| outer.lists.load(Relaxed));
        Self {
            outer,
            unfinished: AtomicUsize::new(0),
            is_cancelled: AtomicBool::new(false),
            is_of_construct: AtomicBool::new(false),
            reduction: OnceLock::new(),
            lists: AtomicPtr::new(lists),
        }
    }

    /// The group whose cancellation is this one's: a construct's tasks belong to the one around it.
    pub fn cancelled_with(&self) -> &Self {
        // SAFETY: the group around it outlives it.
        let outer = unsafe { self.outer.as_ref() };
        outer.filter(|_| self.is_of_construct.load(Relaxed)).unwrap_or(self)
    }
}
