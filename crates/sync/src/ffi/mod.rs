//! The C interface: `include/coho_sync.h`.
#![allow(non_camel_case_types, reason = "the names in C")]

mod barrier;
mod member;
mod options;
mod team;

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Error;

/// What a function of this library returns.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_sync_status {
    /// Done.
    COHO_SYNC_OK = 0,
    /// A null pointer, an unknown constant, or a rank or number out of range.
    COHO_SYNC_INVALID = 1,
    /// A wait took longer than its limit.
    COHO_SYNC_TIMED_OUT = 2,
    /// The team is running: runs of the same team can be neither nested nor made by two threads at once.
    COHO_SYNC_BUSY = 3,
    /// A CPU cannot be used.
    COHO_SYNC_CPU = 4,
    /// The operating system refused a thread or memory.
    COHO_SYNC_SYSTEM = 5,
    /// The process is a child of `fork`; the team's threads stayed with the parent.
    COHO_SYNC_FORKED = 6,
    /// The members of a team have not met the same loops.
    COHO_SYNC_OUT_OF_STEP = 7,
}

use coho_sync_status::*;

impl From<&Error> for coho_sync_status {
    fn from(error: &Error) -> Self {
        match error {
            Error::Size { .. } | Error::Argument(_) => COHO_SYNC_INVALID,
            Error::Cpu { .. } => COHO_SYNC_CPU,
            Error::System { .. } => COHO_SYNC_SYSTEM,
            Error::Absent { .. } => COHO_SYNC_TIMED_OUT,
            Error::Forked => COHO_SYNC_FORKED,
        }
    }
}

/// What a status means, in English; never null.
#[unsafe(no_mangle)]
pub extern "C" fn coho_sync_status_text(status: i32) -> *const c_char {
    let text = match status {
        0 => c"done",
        1 => c"a null pointer, an unknown constant, or a number out of range",
        2 => c"the wait took longer than its limit",
        3 => c"the team is running",
        4 => c"a CPU cannot be used",
        5 => c"the operating system refused a thread or memory",
        6 => c"the team's threads stayed with the process that called fork",
        7 => c"the members of the team have not met the same loops",
        _ => c"not a status of coho-sync",
    };
    text.as_ptr()
}

/// What the caller passes to its own functions; whether threads may share it is the caller's responsibility.
#[derive(Clone, Copy)]
struct Argument(*mut c_void);

// SAFETY: nothing here follows the pointer.
unsafe impl Send for Argument {}
// SAFETY: as above.
unsafe impl Sync for Argument {}

impl Argument {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Hands a new object to C.
///
/// # Safety
/// `out` is null or can be written.
unsafe fn hand_out<T>(out: *mut *mut T, made: Result<T, Error>) -> coho_sync_status {
    match made {
        _ if out.is_null() => COHO_SYNC_INVALID,
        Err(error) => (&error).into(),
        Ok(object) => {
            // SAFETY: as the caller promises.
            unsafe { out.write(Box::into_raw(Box::new(object))) };
            COHO_SYNC_OK
        }
    }
}

/// Keeps a panic from unwinding into C; returns `panicked` instead.
fn shielded(panicked: coho_sync_status, work: impl FnOnce() -> coho_sync_status) -> coho_sync_status {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(panicked)
}
