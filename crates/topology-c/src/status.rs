//! What a call returns, and the message for it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::coho_topology;

/// What a function of this library returns.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_topology_status {
    /// Done.
    COHO_TOPOLOGY_OK = 0,
    /// A null pointer, an unknown constant, an index out of range, or a structure of an impossible size.
    COHO_TOPOLOGY_INVALID = 1,
    /// The machine or the file cannot be read as a topology; `coho_topology_last_error` says why.
    COHO_TOPOLOGY_UNREADABLE = 2,
    /// Nothing says it: the CPUs share no object, a distance is not claimed, or a time was not measured.
    COHO_TOPOLOGY_UNKNOWN = 3,
    /// A fault of this library.
    COHO_TOPOLOGY_FAULT = 4,
}

use coho_topology_status::*;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps the message of a failing call for this thread.
#[cold]
pub(crate) fn fail(status: coho_topology_status, why: &str) -> coho_topology_status {
    let message = CString::new(why.replace('\0', "")).unwrap_or_default();
    // A thread that is ending cannot store messages any more.
    let _ = LAST.try_with(|last| last.replace(message));
    status
}

/// Keeps a panic from unwinding into C.
pub(crate) fn shielded(work: impl FnOnce() -> coho_topology_status) -> coho_topology_status {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(COHO_TOPOLOGY_FAULT)
}

/// Works on a topology that a program hands over, [`shielded`].
///
/// # Safety
/// `topology` is null or a topology of this library.
pub(crate) unsafe fn with(
    topology: *const coho_topology,
    work: impl FnOnce(&coho_topology) -> coho_topology_status,
) -> coho_topology_status {
    // SAFETY: as the caller promises.
    match unsafe { topology.as_ref() } {
        Some(topology) => shielded(|| work(topology)),
        None => fail(COHO_TOPOLOGY_INVALID, "there is no topology"),
    }
}

/// The message of this thread's last failing call. Valid until the thread's next failing call; empty if none has failed.
#[unsafe(no_mangle)]
pub extern "C" fn coho_topology_last_error() -> *const c_char {
    const NONE: &CStr = c"";
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(NONE.as_ptr())
}

/// What a status means, in English; never null.
#[unsafe(no_mangle)]
pub extern "C" fn coho_topology_status_text(status: i32) -> *const c_char {
    let text = match status {
        0 => c"done",
        1 => c"a null pointer, an unknown constant, an index out of range, or a structure of an impossible size",
        2 => c"the machine or the file cannot be read as a topology",
        3 => c"nothing says it",
        4 => c"a fault of the library",
        _ => c"not a status of coho-topology",
    };
    text.as_ptr()
}
