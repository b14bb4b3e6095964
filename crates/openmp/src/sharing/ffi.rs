//! Loops as compiled programs call them: a start and a next for each schedule, signed and unsigned.

use libc::{c_long, c_ulonglong};

use super::Bounds;
use crate::here::{Membership, here};
use crate::settings::{Kind, MONOTONIC, Schedule};
use crate::truth::Truth;

/// Hands over the next chunk, if there is one.
///
/// # Safety
/// The pointers are to places for the loop's variable.
#[inline(always)]
pub(super) unsafe fn hand_over(membership: &Membership, from: *mut u64, to: *mut u64) -> bool {
    let Some(values) = membership.next_values() else { return false };
    // SAFETY: as the caller promises.
    unsafe { (*from, *to) = values };
    true
}

/// The schedule that a program's user chooses.
pub fn chosen() -> Schedule {
    here().variables().schedule
}

/// The same, where the compiler says that any order will do.
pub fn chosen_any_order() -> Schedule {
    let variables = here().variables();
    match variables.schedule.kind {
        Kind::Dynamic if variables.schedule_kind & MONOTONIC == 0 => {
            Schedule { kind: Kind::Nonmonotonic, ..variables.schedule }
        }
        _ => variables.schedule,
    }
}

macro_rules! schedules {
    ($($start:ident, $ull:ident $(, $ordered:ident, $ull_ordered:ident)?: |$chunk:ident| $schedule:expr;)*) => { $(
        schedules!(signed $start, false, $chunk, $schedule);
        schedules!(unsigned $ull, false, $chunk, $schedule);
        $(
            schedules!(signed $ordered, true, $chunk, $schedule);
            schedules!(unsigned $ull_ordered, true, $chunk, $schedule);
        )?
    )* };
    (signed $name:ident, $ordered:expr, $chunk:ident, $schedule:expr) => {
        pub unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, $chunk: c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            let $chunk = $chunk.max(0) as u64;
            let membership = here();
            membership.begin_loop(Bounds::signed(start, end, step), $schedule, $ordered);
            // SAFETY: the compiler's; a long has the size of its unsigned form.
            unsafe { hand_over(membership, from.cast(), to.cast()) }
        }
    };
    (unsigned $name:ident, $ordered:expr, $chunk:ident, $schedule:expr) => {
        pub unsafe extern "C" fn $name(
            up: Truth, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, $chunk: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong,
        ) -> bool {
            let membership = here();
            membership.begin_loop(Bounds::unsigned(up.holds(), start, end, step), $schedule, $ordered);
            // SAFETY: the compiler's.
            unsafe { hand_over(membership, from, to) }
        }
    };
}

schedules! {
    static_start, ull_static_start, ordered_static_start, ull_ordered_static_start:
        |chunk| Schedule { kind: Kind::Static, chunk };
    nonmonotonic_dynamic_start, ull_nonmonotonic_dynamic_start:
        |chunk| Schedule { kind: Kind::Nonmonotonic, chunk };
    dynamic_start, ull_dynamic_start, ordered_dynamic_start, ull_ordered_dynamic_start:
        |chunk| Schedule { kind: Kind::Dynamic, chunk };
    guided_start, ull_guided_start, ordered_guided_start, ull_ordered_guided_start:
        |chunk| Schedule { kind: Kind::Guided, chunk };
}

macro_rules! runtime {
    ($($signed:ident, $unsigned:ident: $chosen:ident, $ordered:expr;)*) => { $(
        pub unsafe extern "C" fn $signed(
            start: c_long, end: c_long, step: c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            let membership = here();
            membership.begin_loop(Bounds::signed(start, end, step), $chosen(), $ordered);
            // SAFETY: the compiler's; a long has the size of its unsigned form.
            unsafe { hand_over(membership, from.cast(), to.cast()) }
        }

        pub unsafe extern "C" fn $unsigned(
            up: Truth, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong,
        ) -> bool {
            let membership = here();
            membership.begin_loop(Bounds::unsigned(up.holds(), start, end, step), $chosen(), $ordered);
            // SAFETY: the compiler's.
            unsafe { hand_over(membership, from, to) }
        }
    )* };
}

runtime! {
    runtime_start, ull_runtime_start: chosen, false;
    nonmonotonic_runtime_start, ull_nonmonotonic_runtime_start: chosen_any_order, false;
    ordered_runtime_start, ull_ordered_runtime_start: chosen, true;
}

/// The next chunk, whatever the schedule.
pub unsafe extern "C" fn loop_next(from: *mut u64, to: *mut u64) -> bool {
    // SAFETY: the compiler's.
    unsafe { hand_over(here(), from, to) }
}

pub extern "C" fn loop_end() {
    here().end_loop();
    here().barrier();
}

pub extern "C" fn loop_end_nowait() {
    here().end_loop();
}

/// Whether the region is cancelled.
pub extern "C-unwind" fn loop_end_cancel() -> bool {
    here().end_loop();
    here().barrier()
}

pub extern "C" fn ordered_start() {
    here().await_ordered();
}

/// The turn is passed on when the chunk ends: it may have more ordered parts.
pub extern "C" fn ordered_end() {}
