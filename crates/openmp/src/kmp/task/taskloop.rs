//! Loops whose iterations are shared out as tasks: copies of one that the compiler has made.

use std::ptr;
use std::sync::Arc;

use libc::{c_int, c_void};

use super::{Head, Task, allocate, destroy, hand_over};
use crate::here::here;
use crate::sharing::Bounds;
use crate::task::{begin_group, cut, end_group};

/// Copies what is not merely bytes, and tells a task whether it has the last iteration.
type Copy = Option<unsafe extern "C-unwind" fn(*mut Task, *mut Task, c_int)>;

const BY_GRAIN: c_int = 1;

/// Tasks for each member, unless the program says how many there are to be.
const USUAL: u64 = 10;

pub unsafe extern "C-unwind" fn taskloop(
    place: *const c_void,
    number: c_int,
    pattern: *mut Task,
    may_wait: c_int,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    has_no_group: c_int,
    kind: c_int,
    asked: u64,
    copy: Copy,
) {
    // SAFETY: the compiler's.
    unsafe {
        taskloop_5(place, number, pattern, may_wait, lower, upper, step, has_no_group, kind, asked, 0, copy);
    }
}

pub unsafe extern "C-unwind" fn taskloop_5(
    _place: *const c_void,
    _number: c_int,
    pattern: *mut Task,
    may_wait: c_int,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    has_no_group: c_int,
    kind: c_int,
    asked: u64,
    is_strict: c_int,
    copy: Copy,
) {
    let membership = here();
    // SAFETY: the compiler's; the bounds lie in the task, and are those of its loop.
    unsafe {
        let bounds = Bounds::through(*lower, *upper, step, true);
        let places = [lower, upper].map(|place| place.addr() - pattern.addr());
        let usual = USUAL * u64::from(membership.size());
        let how = (kind == BY_GRAIN, is_strict != 0);
        let asked = if kind == 0 { 0 } else { asked };
        let (tasks, each, longer) = cut(bounds.count, asked, how, usual);
        if has_no_group == 0 {
            begin_group(membership);
        }
        let mut from = 0;
        for part in 0..tasks {
            let to = (from + each + u64::from(part < longer)).min(bounds.count);
            if from == to {
                break;
            }
            let task = copied(pattern);
            let (first, last) = bounds.ends(&(from..to));
            for (place, value) in places.into_iter().zip([first, last]) {
                task.byte_add(place).cast::<u64>().write_unaligned(value);
            }
            if let Some(copy) = copy {
                copy(task, pattern, (to == bounds.count).into());
            }
            hand_over(membership, Head::take(task), may_wait != 0);
            from = to;
        }
        destroy(pattern);
        drop::<Arc<_>>(Head::take(pattern));
        if has_no_group == 0 {
            end_group(membership);
        }
    }
}

/// A new task with the bytes of another.
///
/// # Safety
/// The compiler's task.
unsafe fn copied(pattern: *mut Task) -> *mut Task {
    // SAFETY: as the caller promises; the copy's memory is as large.
    unsafe {
        let head = &*Head::of(pattern);
        let bytes = head.bytes as usize;
        let own = match (*pattern).shared.is_null() {
            true => bytes,
            false => (*pattern).shared.addr() - pattern.addr(),
        };
        let task = allocate(here(), head.flags, own, bytes - own);
        let shared = (*task).shared;
        ptr::copy_nonoverlapping(pattern.cast::<u8>(), task.cast(), bytes);
        (*task).shared = shared;
        task
    }
}
