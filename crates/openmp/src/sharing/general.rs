//! Loops and sections whose schedule is an argument, and which may have memory in common.

use std::ffi::c_void;

use libc::{c_int, c_long, c_uint, c_ulonglong};

use super::ffi::{chosen, chosen_any_order, hand_over};
use super::{Bounds, sections_start};
use crate::here::{Membership, here};
use crate::settings::{DYNAMIC, GUIDED, Kind, MONOTONIC, STATIC, Schedule};
use crate::task::begin_workshare;
use crate::truth::Truth;

/// A schedule by the compiler's number: OpenMP's own, except that 0 and the number of `auto` mean the user's choice,
/// the latter in any order.
pub(super) fn named(number: c_long, chunk: u64) -> Schedule {
    let number = number as c_int;
    let is_monotonic = number & MONOTONIC != 0;
    let kind = match number & !MONOTONIC {
        STATIC => Kind::Static,
        DYNAMIC if is_monotonic => Kind::Dynamic,
        DYNAMIC => Kind::Nonmonotonic,
        GUIDED => Kind::Guided,
        _ if is_monotonic => return chosen(),
        _ => return chosen_any_order(),
    };
    Schedule { kind, chunk }
}

/// Stores the address of the members' common memory where the compiler has put its size, if it wants any. This comes
/// before the construct, as members meet elsewhere to get it.
///
/// # Safety
/// It is null, or the compiler's.
unsafe fn put_common(membership: &Membership, memory: *mut *mut c_void) {
    // SAFETY: as the caller promises.
    if let Some(memory) = unsafe { memory.as_mut() } {
        *memory = membership.enter_common(memory.addr());
    }
}

macro_rules! signed {
    ($($name:ident: $ordered:expr, $order:expr;)*) => { $(
        pub unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long,
            from: *mut c_long, to: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let schedule = named(schedule | $order, chunk.max(0) as u64);
            // SAFETY: the compiler's; a long has the size of its unsigned form.
            unsafe { begin(Bounds::signed(start, end, step), schedule, $ordered, (from.cast(), to.cast()), (reductions, memory)) }
        }
    )* };
}

macro_rules! unsigned {
    ($($name:ident: $ordered:expr, $order:expr;)*) => { $(
        pub unsafe extern "C" fn $name(
            up: Truth, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, schedule: c_long, chunk: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let schedule = named(schedule | $order, chunk);
            // SAFETY: the compiler's.
            unsafe { begin(Bounds::unsigned(up.holds(), start, end, step), schedule, $ordered, (from, to), (reductions, memory)) }
        }
    )* };
}

/// Turns are in ascending order whatever the schedule says.
pub(super) const IN_ORDER: c_long = MONOTONIC as c_long;

signed! {
    loop_start: false, 0;
    loop_ordered_start: true, IN_ORDER;
}

unsigned! {
    loop_ull_start: false, 0;
    loop_ull_ordered_start: true, IN_ORDER;
}

/// Begins a loop. If the compiler distributes it by itself, there are no places for the first chunk.
///
/// # Safety
/// All pointers are null or the compiler's.
unsafe fn begin(
    bounds: Bounds,
    schedule: Schedule,
    is_ordered: bool,
    (from, to): (*mut u64, *mut u64),
    (reductions, memory): (*mut usize, *mut *mut c_void),
) -> bool {
    let membership = here();
    // SAFETY: as the caller promises.
    unsafe {
        begin_workshare(membership, reductions);
        put_common(membership, memory);
        membership.begin_loop(bounds, schedule, is_ordered);
        from.is_null() || hand_over(membership, from, to)
    }
}

pub unsafe extern "C" fn sections2_start(
    count: c_uint,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> c_uint {
    // SAFETY: the compiler's.
    unsafe {
        begin_workshare(here(), reductions);
        put_common(here(), memory);
    }
    sections_start(count)
}
