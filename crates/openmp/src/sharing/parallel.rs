//! Regions that are one loop or sections: the members' bodies find them begun.

use libc::{c_long, c_uint, c_void};

use super::{Bounds, chosen, chosen_any_order};
use crate::region::{Begin, Body, open, unless_libgomp};
use crate::settings::{Kind, Schedule};

macro_rules! parallel_loops {
    ($($name:ident, $real:literal: |$chunk:ident| $schedule:expr;)*) => { $(
        pub unsafe extern "C-unwind" fn $name(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long,
            chunk: c_long, flags: c_uint,
        ) {
            unless_libgomp!(
                $real, body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long,
                chunk: c_long, flags: c_uint
            );
            let $chunk = chunk.max(0) as u64;
            let (bounds, schedule) = (Bounds::signed(start, end, step), $schedule);
            // SAFETY: the compiler's.
            unsafe { open(body, data, threads, flags, Begin::Loop(bounds, schedule)) };
        }
    )* };
}

parallel_loops! {
    parallel_static, "GOMP_parallel_loop_static": |chunk| Schedule { kind: Kind::Static, chunk };
    parallel_dynamic, "GOMP_parallel_loop_dynamic": |chunk| Schedule { kind: Kind::Dynamic, chunk };
    parallel_nonmonotonic_dynamic, "GOMP_parallel_loop_nonmonotonic_dynamic":
        |chunk| Schedule { kind: Kind::Nonmonotonic, chunk };
    parallel_guided, "GOMP_parallel_loop_guided": |chunk| Schedule { kind: Kind::Guided, chunk };
}

macro_rules! parallel_runtime_loops {
    ($($name:ident, $real:literal: $chosen:ident;)*) => { $(
        pub unsafe extern "C-unwind" fn $name(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint,
        ) {
            unless_libgomp!(
                $real, body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long,
                flags: c_uint
            );
            let (bounds, schedule) = (Bounds::signed(start, end, step), $chosen());
            // SAFETY: the compiler's.
            unsafe { open(body, data, threads, flags, Begin::Loop(bounds, schedule)) };
        }
    )* };
}

parallel_runtime_loops! {
    parallel_runtime, "GOMP_parallel_loop_runtime": chosen;
    parallel_nonmonotonic_runtime, "GOMP_parallel_loop_nonmonotonic_runtime": chosen_any_order;
}

pub unsafe extern "C-unwind" fn parallel_sections(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
) {
    unless_libgomp!(
        "GOMP_parallel_sections", body: Body, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint
    );
    // SAFETY: the compiler's.
    unsafe { open(body, data, threads, flags, Begin::Sections(count)) };
}
