//! The C interface; its header is include/coho_counters.h, generated from this folder by cbindgen.
//!
//! A call returns a [`CohoCountersStatus`] and writes its result through a pointer. Panics are caught.

mod clock;
mod counter;
mod group;
mod status;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use counter::{CohoCounter, CohoEvent, CohoMode};
pub use group::CohoGroup;
pub use status::CohoCountersStatus;

use crate::{Error, Event, Mode};
use status::fail;

const NULL: Error = Error::Invalid("a null pointer was given");

/// Runs a call's body; keeps its error for `coho_counters_last_error`.
fn call(body: impl FnOnce() -> Result<(), Error>) -> CohoCountersStatus {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CohoCountersStatus::Ok,
        Ok(Err(error)) => fail(&error),
        Err(_) => CohoCountersStatus::Panic,
    }
}

/// Writes a result.
///
/// # Safety
/// `to` must be null or valid for writes.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Error> {
    if to.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// # Safety
/// `from` must be null or valid for reads for as long as the reference is used.
unsafe fn get<'a, T>(from: *const T) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise.
    unsafe { from.as_ref() }.ok_or(NULL)
}

fn mode(mode: u32) -> Result<Mode, Error> {
    const MODES: [(CohoMode, Mode); 3] =
        [(CohoMode::User, Mode::User), (CohoMode::Kernel, Mode::Kernel), (CohoMode::Both, Mode::Both)];
    let found = MODES.into_iter().find(|(number, _)| *number as u32 == mode);
    found.map(|(_, mode)| mode).ok_or(Error::Invalid("there is no such mode"))
}

fn event(event: &CohoEvent) -> Event {
    let CohoEvent { kind, config, config1 } = *event;
    Event { name: format!("event {kind}:{config:#x}"), kind, config, config1 }
}
