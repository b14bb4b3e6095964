//! One event.

use super::{CohoCountersStatus, call, event, get, mode, put};
use crate::perf::median_of_pairs;
use crate::{Bias, Counter, Error, Span};

/// In which mode of the CPU events are counted.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CohoMode {
    /// In user mode only.
    User = 0,
    /// In the kernel only; needs perf_event_paranoid below 2 or CAP_PERFMON.
    Kernel = 1,
    /// In both; needs the same.
    Both = 2,
}

/// An event as perf_event_open takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CohoEvent {
    /// perf_event_attr.type.
    pub kind: u32,
    /// perf_event_attr.config; for breakpoints their type.
    pub config: u64,
    /// perf_event_attr.config1; for breakpoints the address.
    pub config1: u64,
}

/// One event of the thread that opened it. Only that thread may use it.
pub struct CohoCounter(Counter);

/// Opens an event for the calling thread; it counts at once.
///
/// # Safety
/// `event` must be null or valid for reads, `counter` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_open(
    event: *const CohoEvent,
    mode: u32,
    counter: *mut *mut CohoCounter,
) -> CohoCountersStatus {
    call(|| {
        // SAFETY: the caller's promise.
        let opened = Counter::open(&self::event(unsafe { get(event) }?), self::mode(mode)?)?;
        // SAFETY: the caller's promise.
        unsafe { give(counter, CohoCounter(opened)) }
    })
}

/// Closes a counter; null is ignored.
///
/// # Safety
/// `counter` must be null or come from `coho_counter_open`, and not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_close(counter: *mut CohoCounter) {
    // SAFETY: the caller's promise.
    unsafe { take_back(counter) };
}

/// The count, read in user mode: no kernel entry.
///
/// # Safety
/// `counter` must be null or an open counter of this thread, `count` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_read(
    counter: *const CohoCounter,
    count: *mut u64,
) -> CohoCountersStatus {
    // SAFETY: the caller's promise.
    call(|| unsafe { put(count, get(counter)?.0.read()?) })
}

/// The count, by read(2).
///
/// # Safety
/// `counter` must be null or an open counter of this thread, `count` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_read_by_kernel(
    counter: *const CohoCounter,
    count: *mut u64,
) -> CohoCountersStatus {
    // SAFETY: the caller's promise.
    call(|| unsafe { put(count, get(counter)?.0.read_by_kernel()?) })
}

/// Lets a counter count again.
///
/// # Safety
/// `counter` must be null or an open counter of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_enable(counter: *const CohoCounter) -> CohoCountersStatus {
    // SAFETY: the caller's promise.
    call(|| unsafe { get(counter) }?.0.enable())
}

/// Stops a counter; its count stays.
///
/// # Safety
/// `counter` must be null or an open counter of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_disable(counter: *const CohoCounter) -> CohoCountersStatus {
    // SAFETY: the caller's promise.
    call(|| unsafe { get(counter) }?.0.disable())
}

/// What a pair of `coho_counter_start` and `coho_counter_stop` counts with nothing between them: the median of many
/// pairs.
///
/// # Safety
/// `counter` must be null or an open counter of this thread, `bias` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_calibrate(
    counter: *const CohoCounter,
    bias: *mut u64,
) -> CohoCountersStatus {
    let pair = || {
        let (mut start, mut events) = (0, 0);
        // SAFETY: the caller's promise.
        unsafe {
            coho_counter_start(counter, &mut start).ok()?;
            coho_counter_stop(counter, start, 0, &mut events).ok()?;
        }
        Ok(events as u64)
    };
    match median_of_pairs(pair) {
        // SAFETY: the caller's promise.
        Ok(median) => call(|| unsafe { put(bias, median) }),
        Err(status) => status,
    }
}

/// Begins a count: `*start` is for `coho_counter_stop`.
///
/// # Safety
/// `counter` must be null or an open counter of this thread, `start` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_start(
    counter: *const CohoCounter,
    start: *mut u64,
) -> CohoCountersStatus {
    // SAFETY: the caller's promise.
    call(|| unsafe { put(start, get(counter)?.0.start()?.start) })
}

/// Ends a count: `*events` is the count since `start`, minus `bias`.
///
/// # Safety
/// `counter` must be null or an open counter of this thread, `events` null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_counter_stop(
    counter: *const CohoCounter,
    start: u64,
    bias: u64,
    events: *mut i64,
) -> CohoCountersStatus {
    call(|| {
        // SAFETY: the caller's promise.
        let counter = unsafe { &get(counter)?.0 };
        let delta = Span { page: counter.page(), start }.stop()?.less(Bias(bias));
        // SAFETY: the caller's promise.
        unsafe { put(events, delta.events()) }
    })
}

/// Hands a value over to the caller as a pointer.
///
/// # Safety
/// `to` must be null or valid for writes.
pub(super) unsafe fn give<T>(to: *mut *mut T, value: T) -> Result<(), Error> {
    let given = Box::into_raw(Box::new(value));
    // SAFETY: the caller's promise.
    let put = unsafe { put(to, given) };
    if put.is_err() {
        // SAFETY: nobody else has the pointer.
        unsafe { take_back(given) };
    }
    put
}

/// Drops what `give` has handed over.
///
/// # Safety
/// `given` must be null or come from `give`, and not be used again.
pub(super) unsafe fn take_back<T>(given: *mut T) {
    if !given.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(given) });
    }
}
