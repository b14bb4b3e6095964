//! Task groups: ending one waits for all tasks that were created within it, and for their descendants.

use std::sync::atomic::AtomicUsize;

/// A group, alive until all its tasks are finished.
#[derive(Debug)]
pub struct Group {
    /// The one around it in the same task.
    pub outer: *const Self,
    pub unfinished: AtomicUsize,
}

impl Group {
    pub fn within(outer: *const Self) -> Self {
        Self { outer, unfinished: AtomicUsize::new(0) }
    }
}
