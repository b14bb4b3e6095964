//! Which calls are delegated, and how one is.

use coho_delegate::{Executor, Request};
use coho_preload::Errno;

use crate::calls::Call;
use crate::guards::{Blocked, may_be_handler};
use crate::mine::{with_caller, with_mine};
use crate::state::{self, AUTO, LATER, is_at_home};
use crate::thread::{FIRST_CALLS, this};
use crate::{choices, hosts};

/// Whether this call, with so long a payload, is made at home whatever it is on.
#[inline(always)]
pub fn stays_home(call: Call, payload_bytes: usize) -> bool {
    let calls = state::calls();
    calls & call.bit() == 0 || calls & AUTO != 0 && choices::waits(call, payload_bytes)
}

/// Whether this call, with so long a payload, is delegated. Each call that does not [stay](stays_home) asks once.
#[inline(always)]
pub fn delegates(call: Call, payload_bytes: usize) -> bool {
    let calls = state::calls();
    calls & call.bit() != 0 && (calls & AUTO == 0 || choices::is_away(call, payload_bytes))
}

/// Whether writes return before they are done, and this thread is ready for it.
#[inline(always)]
pub fn writes_later() -> bool {
    state::calls() & LATER != 0 && is_set_up()
}

/// Has a host execute a request, and waits. `None`: it is to be made at home.
///
/// # Safety
/// As the request's.
#[inline]
pub unsafe fn away(call: Call, request: Request) -> Option<isize> {
    // SAFETY: handed on.
    unsafe { away_by(call, request) }.map(|(answer, _)| answer)
}

/// As [`away`]; also by whom it was executed, as a caller may take back what its host is late for.
///
/// # Safety
/// As the request's.
#[inline]
pub unsafe fn away_by(call: Call, request: Request) -> Option<(isize, Executor)> {
    if is_at_home() || state::calls() & AUTO == 0 && !is_set_up() {
        return None;
    }
    // SAFETY: handed on.
    with_caller(call, |caller| unsafe { caller.call_by(request) })
        .map(|(answer, executor)| (answer.raw(), executor))
}

/// Where a thread can be cancelled. Nothing that is the library's needs cleaning up then.
#[inline]
pub fn cancellation_point() {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    // SAFETY: as in the place of the call that the program makes.
    unsafe { pthread_testcancel() };
}

/// Whether this thread has a caller, for which it may be time now.
#[inline(always)]
fn is_set_up() -> bool {
    let count = this().count.get();
    count > FIRST_CALLS || set_up(count)
}

#[cold]
fn set_up(count: u32) -> bool {
    if is_at_home() {
        return false;
    }
    this().count.set(count + 1);
    // To set up takes memory, which a handler may not.
    if count < FIRST_CALLS || may_be_handler() {
        this().count.set((count + 1).min(FIRST_CALLS));
        return false;
    }
    // Writes that are done later have a way of their own.
    let wants_ways = state::calls() & (AUTO - 1) != 0;
    if wants_ways && with_mine(|mine| mine.ways.is_empty()) == Some(true) {
        // A handler that ends the process would wait for the lock that is held meanwhile.
        let _blocked = Blocked::all();
        let _errno = Errno::kept();
        with_mine(|mine| mine.ways = hosts::ways());
    }
    true
}
