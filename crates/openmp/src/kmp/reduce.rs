//! Reductions: each member adds its part to the result, by an atomic operation or under a lock.

use libc::{c_int, c_void};

use super::Place;
use crate::here::here;
use crate::lock::Lock;

/// The compiler has code for both ways.
const HAS_ATOMICS: c_int = 0x10;

/// What a member is to do.
const UNDER_THE_LOCK: c_int = 1;
const BY_ATOMICS: c_int = 2;

/// Whether members add their parts by atomic operations: all choose alike.
unsafe fn by_atomics(place: *const Place) -> bool {
    // SAFETY: the compiler's, or null.
    let has_atomics = unsafe { place.as_ref() }.is_some_and(|place| place.flags & HAS_ATOMICS != 0);
    has_atomics && here().size() > 1
}

pub unsafe extern "C-unwind" fn reduce(
    place: *const Place,
    _number: c_int,
    _variables: c_int,
    _bytes: usize,
    _data: *mut c_void,
    _combine: *const c_void,
    lock: *mut [c_int; 8],
) -> c_int {
    // SAFETY: the compiler's; a lock takes the first word.
    unsafe {
        if by_atomics(place) {
            return BY_ATOMICS;
        }
        if here().size() > 1 {
            (*lock.cast::<Lock>()).lock();
        }
    }
    UNDER_THE_LOCK
}

pub unsafe extern "C-unwind" fn end_reduce_nowait(
    place: *const Place,
    _number: c_int,
    lock: *mut [c_int; 8],
) {
    // SAFETY: as above.
    unsafe {
        if !by_atomics(place) && here().size() > 1 {
            (*lock.cast::<Lock>()).unlock();
        }
    }
}

pub unsafe extern "C-unwind" fn end_reduce(place: *const Place, number: c_int, lock: *mut [c_int; 8]) {
    // SAFETY: as above.
    unsafe { end_reduce_nowait(place, number, lock) };
    here().barrier();
}
