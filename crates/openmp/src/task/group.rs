//! Task groups: ending one waits for all tasks that were created within it, and for their descendants.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use super::Reduction;

/// A group, alive until all its tasks are finished.
#[derive(Debug)]
pub struct Group {
    /// The one around it in the same task.
    pub outer: *const Self,
    pub unfinished: AtomicUsize,
    /// Its tasks that have not begun never will.
    pub is_cancelled: AtomicBool,
    /// What its tasks reduce. Written before there are tasks, and read by several at once.
    pub reduction: OnceLock<Box<Reduction>>,
}

impl Group {
    pub fn within(outer: *const Self) -> Self {
        Self {
            outer,
            unfinished: AtomicUsize::new(0),
            is_cancelled: AtomicBool::new(false),
            reduction: OnceLock::new(),
        }
    }
}
