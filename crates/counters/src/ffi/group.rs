//! Events that count together.

use std::slice;

use super::counter::{give, take_back};
use super::{CohoCountersStatus, CohoEvent, NULL, call, event, get, mode};
use crate::perf::median_of_pairs;
use crate::{Error, Group};

/// Events of the thread that opened them, which count together. Only that thread may use it.
pub struct CohoGroup(Group);

/// Opens `n` events for the calling thread; they count at once.
///
/// # Safety
/// `events` must be null or valid for `n` reads, `group` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_group_open(
    events: *const CohoEvent,
    n: usize,
    mode: u32,
    group: *mut *mut CohoGroup,
) -> CohoCountersStatus {
    call(|| {
        if events.is_null() {
            return Err(NULL);
        }
        // SAFETY: the caller's promise.
        let events: Vec<_> = unsafe { slice::from_raw_parts(events, n) }.iter().map(event).collect();
        let opened = Group::open(&events, self::mode(mode)?)?;
        // SAFETY: the caller's promise.
        unsafe { give(group, CohoGroup(opened)) }
    })
}

/// Closes a group; null is ignored.
///
/// # Safety
/// `group` must be null or come from `coho_group_open`, and not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_group_close(group: *mut CohoGroup) {
    // SAFETY: the caller's promise.
    unsafe { take_back(group) };
}

/// The counts of the first `n` events, read in user mode one after another: no kernel entry.
///
/// # Safety
/// `group` must be null or an open group of this thread, `counts` null or valid for `n` writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_group_read(
    group: *const CohoGroup,
    counts: *mut u64,
    n: usize,
) -> CohoCountersStatus {
    call(|| {
        // SAFETY: the caller's promise.
        let (group, counts) = unsafe { parts(group, counts, n)? };
        Ok(group.read(counts)?)
    })
}

/// The counts of the first `n` events, all by one read(2).
///
/// # Safety
/// `group` must be null or an open group of this thread, `counts` null or valid for `n` writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_group_read_by_kernel(
    group: *const CohoGroup,
    counts: *mut u64,
    n: usize,
) -> CohoCountersStatus {
    call(|| {
        // SAFETY: the caller's promise.
        let (group, counts) = unsafe { parts(group, counts, n)? };
        counts.copy_from_slice(&group.read_by_kernel()?[..n]);
        Ok(())
    })
}

/// What a `coho_group_read` itself adds to each of the first `n` events: the difference of two reads with nothing
/// between them, the median of many.
///
/// # Safety
/// `group` must be null or an open group of this thread, `biases` null or valid for `n` writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_group_calibrate(
    group: *const CohoGroup,
    biases: *mut u64,
    n: usize,
) -> CohoCountersStatus {
    // SAFETY: the caller's promise.
    let checked = call(|| unsafe { parts(group, biases, n) }.map(drop));
    if checked != CohoCountersStatus::Ok {
        return checked;
    }
    let (mut before, mut after) = (vec![0; n], vec![0; n]);
    let mut medians = Vec::with_capacity(n);
    for at in 0..n {
        let pair = || {
            // SAFETY: the caller's promise of the group; there is room for `n` counts.
            unsafe {
                coho_group_read(group, before.as_mut_ptr(), n).ok()?;
                coho_group_read(group, after.as_mut_ptr(), n).ok()?;
            }
            Ok(after[at].wrapping_sub(before[at]))
        };
        match median_of_pairs(pair) {
            Ok(median) => medians.push(median),
            Err(status) => return status,
        }
    }
    call(|| {
        // SAFETY: the caller's promise.
        unsafe { parts(group, biases, n) }?.1.copy_from_slice(&medians);
        Ok(())
    })
}

/// The group, and room for counts.
///
/// # Safety
/// `group` must be null or valid for reads, `counts` null or valid for `n` writes.
unsafe fn parts<'a>(
    group: *const CohoGroup,
    counts: *mut u64,
    n: usize,
) -> Result<(&'a Group, &'a mut [u64]), Error> {
    // SAFETY: the caller's promise.
    let group = unsafe { &get(group)?.0 };
    if counts.is_null() {
        return Err(NULL);
    }
    if n > group.len() {
        return Err(Error::Invalid("the group has fewer events"));
    }
    // SAFETY: the caller's promise, of which C's `uint64_t counts[n]` is one.
    Ok((group, unsafe { slice::from_raw_parts_mut(counts, n) }))
}
