//! What a call returns, and the message for it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use crate::{Error, Lost};

/// The outcome of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CohoCountersStatus {
    /// Done.
    Ok = 0,
    /// The kernel refuses because rights are missing.
    NotPermitted = 1,
    /// There are no hardware counters here at all.
    NoCounters = 2,
    /// This machine does not have this event, or not in this mode.
    NoSuchEvent = 3,
    /// No file descriptor is left.
    TooManyFiles = 4,
    /// The kernel opened the events but never lets them count: too few counters are free.
    NotScheduled = 5,
    /// The events counted for only part of the time.
    Scaled = 6,
    /// User mode may not read this event.
    NotReadable = 7,
    /// The event is not on a hardware counter now.
    NotCounting = 8,
    /// An argument makes no sense.
    Invalid = 9,
    /// Another refusal of the operating system.
    System = 10,
    /// A fault of this library.
    Panic = 11,
}

impl CohoCountersStatus {
    /// `self` as an error, unless it is `Ok`.
    pub(super) fn ok(self) -> Result<(), Self> {
        if self == Self::Ok { Ok(()) } else { Err(self) }
    }

    fn of(error: &Error) -> Self {
        match error {
            Error::NotPermitted { .. } => Self::NotPermitted,
            Error::NoCounters => Self::NoCounters,
            Error::NoSuchEvent { .. } => Self::NoSuchEvent,
            Error::TooManyFiles => Self::TooManyFiles,
            Error::NotScheduled { .. } => Self::NotScheduled,
            Error::Scaled { .. } => Self::Scaled,
            Error::Lost(Lost::NotPermitted) => Self::NotReadable,
            Error::Lost(Lost::NotCounting) => Self::NotCounting,
            Error::Invalid(_) => Self::Invalid,
            Error::System { .. } => Self::System,
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps an error's message for this thread.
#[cold]
pub(super) fn fail(error: &Error) -> CohoCountersStatus {
    // Messages contain no zero byte; if one did, the status would still be returned.
    let message = CString::new(error.to_string()).unwrap_or_default();
    // A thread that is ending cannot store messages any more.
    let _ = LAST.try_with(|last| last.replace(message));
    CohoCountersStatus::of(error)
}

/// The message of this thread's last failing call: what went wrong, and what to do about it.
///
/// Valid until the thread's next failing call; empty if none has failed.
#[unsafe(no_mangle)]
pub extern "C" fn coho_counters_last_error() -> *const c_char {
    const NONE: &CStr = c"";
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(NONE.as_ptr())
}

/// A status in words; never null, and valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn coho_counters_message(status: u32) -> *const c_char {
    const MESSAGES: [&CStr; 12] = [
        c"done",
        c"the kernel refuses: a permission is missing",
        c"this machine has no performance counters",
        c"this machine does not have this event, or not in this mode",
        c"no file descriptor is left",
        c"too few counters are free",
        c"the events counted only part of the time",
        c"user mode may not read this event",
        c"the event is not on a hardware counter now",
        c"an argument is invalid",
        c"the operating system refuses",
        c"a fault of the library",
    ];
    const UNKNOWN: &CStr = c"there is no such status";
    MESSAGES.get(status as usize).unwrap_or(&UNKNOWN).as_ptr()
}
