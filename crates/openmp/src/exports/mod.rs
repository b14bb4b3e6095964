//! The functions that programs import, each of which jumps to where the decision has aimed it.

mod jump;
mod real;
mod table;

use std::ffi::c_void;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

pub use real::libgomps;
use table::TABLE;

/// Whose functions answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Ours,
    Libgomp,
}

/// An exported function.
struct Export {
    /// Ends with a zero.
    name: &'static str,
    /// Null until the decision.
    aim: &'static AtomicPtr<c_void>,
    ours: *const c_void,
}

// SAFETY: the pointer is a function's.
unsafe impl Sync for Export {}

impl Export {
    fn name(&self) -> &'static str {
        &self.name[..self.name.len() - 1]
    }
}

/// Whether a function of this name is exported; its place in the table.
pub fn find(name: &str) -> Option<usize> {
    TABLE.iter().position(|export| export.name() == name)
}

/// Has all functions jump there.
pub fn aim(target: Target) {
    for export in &TABLE {
        let function = match target {
            Target::Ours => export.ours.cast_mut(),
            Target::Libgomp => real::function(export.name),
        };
        export.aim.store(function, Release);
    }
}

/// Where a function jumps to now.
pub fn aimed(name: &str) -> *mut c_void {
    find(name).map_or(std::ptr::null_mut(), |at| TABLE[at].aim.load(Acquire))
}

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    crate::decide::decide_early();
}
