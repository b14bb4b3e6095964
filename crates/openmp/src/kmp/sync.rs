//! Work for one member, or for one at a time.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;

use libc::{c_int, c_void};

use crate::here::here;
use crate::lock::Lock;

pub extern "C" fn flush() {
    fence(SeqCst);
}

pub extern "C" fn master() -> c_int {
    (here().rank == 0).into()
}

pub extern "C" fn masked(_place: *const c_void, _number: c_int, rank: c_int) -> c_int {
    (here().rank as c_int == rank).into()
}

pub extern "C-unwind" fn single() -> c_int {
    here().is_first().into()
}

/// A barrier after which the first member goes on alone, until [`end_barrier_master`].
pub extern "C-unwind" fn barrier_master() -> c_int {
    let membership = here();
    membership.barrier();
    if membership.rank == 0 {
        return 1;
    }
    membership.barrier();
    0
}

pub extern "C-unwind" fn end_barrier_master() {
    here().barrier();
}

/// A barrier after which the first member has something to do.
pub extern "C-unwind" fn barrier_master_nowait() -> c_int {
    here().barrier();
    master()
}

/// The compiler gives each name 32 bytes, 0 at first, of which the lock takes the first word. A hint may follow.
pub unsafe extern "C" fn critical(_place: *const c_void, _number: c_int, name: *mut [c_int; 8]) {
    // SAFETY: the compiler's.
    unsafe { &*name.cast::<Lock>() }.lock();
}

pub unsafe extern "C" fn end_critical(_place: *const c_void, _number: c_int, name: *mut [c_int; 8]) {
    // SAFETY: as above.
    unsafe { &*name.cast::<Lock>() }.unlock();
}

/// Copies from the member that has done a `single` to the others.
pub unsafe extern "C-unwind" fn copyprivate(
    _place: *const c_void,
    _number: c_int,
    _bytes: usize,
    data: *mut c_void,
    copy: unsafe extern "C-unwind" fn(*mut c_void, *mut c_void),
    has_done_it: c_int,
) {
    let membership = here();
    let copied = &membership.region().copied;
    if has_done_it != 0 {
        copied.store(data, Relaxed);
    }
    membership.barrier();
    if has_done_it == 0 {
        // SAFETY: the compiler's; the other member waits.
        unsafe { copy(data, copied.load(Relaxed)) };
    }
    membership.barrier();
}

/// As [`copyprivate`], where compiled code copies, and waits afterwards: returns the data of the member that has done the
/// `single`; the others give none.
pub extern "C-unwind" fn copyprivate_light(
    _place: *const c_void,
    _number: c_int,
    data: *mut c_void,
) -> *mut c_void {
    let membership = here();
    let copied = &membership.region().copied;
    if !data.is_null() {
        copied.store(data, Relaxed);
    }
    membership.barrier();
    copied.load(Relaxed)
}
