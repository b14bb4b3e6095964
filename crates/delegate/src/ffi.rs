//! The C interface: `include/coho_delegate.h`.
#![allow(non_camel_case_types, reason = "the names in C")]

use std::ffi::{c_char, c_long, c_void};
use std::panic::catch_unwind;
use std::time::Duration;

use crate::{Caller, Error, Host, Request, Ticket};

/// What a function of this library returns.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_delegate_status {
    /// Done.
    COHO_DELEGATE_OK = 0,
    /// A null pointer, a number out of range, or a ticket that the caller has not given.
    COHO_DELEGATE_INVALID = 1,
    /// The CPU cannot be used.
    COHO_DELEGATE_CPU = 2,
    /// The operating system refused a thread or memory.
    COHO_DELEGATE_SYSTEM = 3,
    /// There is no answer yet.
    COHO_DELEGATE_PENDING = 4,
    /// The answer is gone: as many requests as there are lines have been posted since.
    COHO_DELEGATE_GONE = 5,
}

use coho_delegate_status::*;

/// What a status means, in English; never null.
#[unsafe(no_mangle)]
pub extern "C" fn coho_delegate_status_text(status: i32) -> *const c_char {
    let text = match status {
        0 => c"done",
        1 => c"a null pointer, a number out of range, or an unknown ticket",
        2 => c"the CPU cannot be used",
        3 => c"the operating system refused a thread or memory",
        4 => c"there is no answer yet",
        5 => c"the answer has been overwritten",
        _ => c"not a status of coho-delegate",
    };
    text.as_ptr()
}

/// A thread that executes the requests of its callers.
pub struct coho_host(Host);

/// One thread's way to a host. Its requests are executed in the order in which they are posted, by the host or, if that is late,
/// by the caller. Drain it before the thread forks: the child has no host.
pub struct coho_caller(Caller);

/// Options of a host. Set `size` and leave the rest zero for the defaults. A null pointer selects these, too:
/// `coho_host_options options = {sizeof options};`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct coho_host_options {
    /// The size of this structure as the program was compiled.
    pub size: usize,
    /// Nanoseconds of polling in vain after which the host gives way to others: 0 for 1 ms, `UINT64_MAX` for never.
    pub polling_ns: u64,
}

/// A system call, by its number (`SYS_…`), with arguments as the kernel takes them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct coho_request {
    /// The number.
    pub number: c_long,
    /// Pointers and numbers alike.
    pub arguments: [usize; 6],
}

/// A function that a host can execute; its result is the answer as it is.
pub type coho_function = Option<unsafe extern "C" fn(argument: *mut c_void) -> isize>;

impl coho_request {
    fn request(&self) -> Request {
        Request::system(self.number, self.arguments)
    }
}

/// Starts a host on a CPU, or on any for -1. `options` may be null. The new thread has the calling thread's rights and blocks
/// all signals.
///
/// # Safety
/// `options` is null or can be read; `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_host_create(
    cpu: i32,
    options: *const coho_host_options,
    out: *mut *mut coho_host,
) -> coho_delegate_status {
    // SAFETY: as the caller promises, as far as the size says.
    let polling_ns = unsafe {
        match options.as_ref() {
            None => 0,
            Some(options) if options.size >= size_of::<coho_host_options>() => options.polling_ns,
            Some(_) => return COHO_DELEGATE_INVALID,
        }
    };
    if out.is_null() || cpu < -1 {
        return COHO_DELEGATE_INVALID;
    }
    let mut builder = Host::builder();
    if let Ok(cpu) = u32::try_from(cpu) {
        builder = builder.cpu(cpu);
    }
    if polling_ns > 0 {
        builder = builder.polling(duration(polling_ns));
    }
    match catch_unwind(|| builder.start()) {
        Err(_) | Ok(Err(Error::Thread(_))) => COHO_DELEGATE_SYSTEM,
        Ok(Err(Error::Cpu(_))) => COHO_DELEGATE_CPU,
        Ok(Ok(host)) => {
            // SAFETY: as the caller promises.
            unsafe { out.write(Box::into_raw(Box::new(coho_host(host)))) };
            COHO_DELEGATE_OK
        }
    }
}

/// Requests that a host has begun to execute so far; 0 for null.
///
/// # Safety
/// `host` is null or a live host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_host_served(host: *const coho_host) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { host.as_ref() }.map_or(0, |host| host.0.served())
}

/// Ends a host's thread, once what has been posted is done. Its callers can still be used: from then on they themselves
/// execute what they post.
///
/// # Safety
/// `host` is null or a live host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_host_end(host: *const coho_host) {
    // SAFETY: as the caller promises.
    if let Some(host) = unsafe { host.as_ref() } {
        host.0.end();
    }
}

/// Ends a host's thread, as `coho_host_end` does, and destroys the host, but not its callers. Null is ignored.
///
/// # Safety
/// `host` is null or came from `coho_host_create`, and nobody will use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_host_destroy(host: *mut coho_host) {
    if !host.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(host) });
    }
}

/// Makes a caller with `lines` lines, each with a slot of `slot_bytes`. As many requests can be on their way as there are lines;
/// their number is rounded up to a power of two, and 0 stands for 8.
///
/// # Safety
/// `host` is null or a live host; `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_create(
    host: *const coho_host,
    lines: usize,
    slot_bytes: usize,
    out: *mut *mut coho_caller,
) -> coho_delegate_status {
    const MOST: usize = 1 << 20;
    // SAFETY: as the caller promises.
    let Some(host) = (unsafe { host.as_ref() }) else { return COHO_DELEGATE_INVALID };
    let lines = if lines == 0 { 8 } else { lines };
    let all_slots = lines.min(MOST).next_power_of_two().checked_mul(slot_bytes);
    let Some(all_slots) = all_slots.filter(|_| !out.is_null() && lines <= MOST) else {
        return COHO_DELEGATE_INVALID;
    };
    // Memory that is not there would end the program.
    if Vec::<u8>::new().try_reserve_exact(all_slots).is_err() {
        return COHO_DELEGATE_SYSTEM;
    }
    let caller = coho_caller(host.0.caller_with(lines, slot_bytes));
    // SAFETY: as the caller promises.
    unsafe { out.write(Box::into_raw(Box::new(caller))) };
    COHO_DELEGATE_OK
}

/// Sets for how many nanoseconds a wait looks for the answer before the caller executes what the host has not begun: 10000 by
/// default. With `UINT64_MAX`, the host executes every request, until it ends.
///
/// # Safety
/// `caller` is null or a live caller, which nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_set_patience(
    caller: *mut coho_caller,
    patience_ns: u64,
) -> coho_delegate_status {
    let set = |caller: &mut Caller| {
        caller.set_patience(duration(patience_ns));
        COHO_DELEGATE_OK
    };
    // SAFETY: as the caller promises.
    unsafe { with(caller, set) }
}

/// Has the host execute a system call, and waits for the result, which is the kernel's: an error number is negated, and `errno`
/// is not set. Returns -EINVAL for null.
///
/// # Safety
/// As `coho_caller_set_patience`; `request` is null or can be read; as the system call with these arguments, executed by another
/// thread of the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_call(caller: *mut coho_caller, request: *const coho_request) -> isize {
    // SAFETY: as the caller promises.
    match unsafe { (caller.as_mut(), request.as_ref()) } {
        // SAFETY: as above.
        (Some(caller), Some(request)) => unsafe { caller.0.call(request.request()) }.raw(),
        _ => -(libc::EINVAL as isize),
    }
}

/// Posts a system call without waiting for it. If no line is free, it waits for the oldest request. `ticket` may be null.
///
/// # Safety
/// As `coho_caller_call`, until the request is done: it reads and writes memory meanwhile. `ticket` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_post(
    caller: *mut coho_caller,
    request: *const coho_request,
    ticket: *mut u64,
) -> coho_delegate_status {
    // SAFETY: as the caller promises.
    let Some(request) = (unsafe { request.as_ref() }) else { return COHO_DELEGATE_INVALID };
    // SAFETY: as above.
    unsafe { post(caller, request.request(), ticket) }
}

/// As `coho_caller_post`, but posts a function of the program, which the host calls with `argument`.
///
/// # Safety
/// As `coho_caller_post`; the function may be called with `argument` on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_post_function(
    caller: *mut coho_caller,
    function: coho_function,
    argument: *mut c_void,
    ticket: *mut u64,
) -> coho_delegate_status {
    unsafe fn run([function, argument, ..]: [usize; 5]) -> isize {
        // SAFETY: the request was made of such pointers; the call is its maker's promise.
        unsafe {
            let function: unsafe extern "C" fn(*mut c_void) -> isize = std::mem::transmute(function);
            function(argument as *mut c_void)
        }
    }
    let Some(function) = function else { return COHO_DELEGATE_INVALID };
    let request = Request::function(run, [function as usize, argument as usize, 0, 0, 0]);
    // SAFETY: as the caller promises.
    unsafe { post(caller, request, ticket) }
}

/// The slot of the next request's line, for its payload. Its size is written to `bytes`, which may be null. The slot is the
/// program's until the request is posted, and again once that is done. Null if `caller` is null or has no slots.
///
/// # Safety
/// As `coho_caller_set_patience`; `bytes` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_slot(caller: *mut coho_caller, bytes: *mut usize) -> *mut c_void {
    // SAFETY: as the caller promises.
    let slot = unsafe { caller.as_mut() }.map_or(&mut [][..], |caller| caller.0.slot());
    if !bytes.is_null() {
        // SAFETY: as above.
        unsafe { bytes.write(slot.len()) };
    }
    if slot.is_empty() { std::ptr::null_mut() } else { slot.as_mut_ptr().cast() }
}

/// Waits for a request that was posted, and writes its answer: the kernel's result, or what the function returned. `answer` may
/// be null.
///
/// # Safety
/// As `coho_caller_set_patience`; `answer` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_wait(
    caller: *mut coho_caller,
    ticket: u64,
    answer: *mut isize,
) -> coho_delegate_status {
    // SAFETY: as the caller promises.
    unsafe { look(caller, ticket, answer, |caller| Some(caller.wait(Ticket(ticket)).raw())) }
}

/// As `coho_caller_wait`, but returns `COHO_DELEGATE_PENDING` if there is no answer yet.
///
/// # Safety
/// As `coho_caller_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_poll(
    caller: *mut coho_caller,
    ticket: u64,
    answer: *mut isize,
) -> coho_delegate_status {
    // SAFETY: as the caller promises.
    unsafe { look(caller, ticket, answer, |caller| caller.poll(Ticket(ticket)).map(crate::Answer::raw)) }
}

/// Waits for all that was posted.
///
/// # Safety
/// As `coho_caller_set_patience`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_drain(caller: *mut coho_caller) -> coho_delegate_status {
    let drain = |caller: &mut Caller| {
        caller.drain();
        COHO_DELEGATE_OK
    };
    // SAFETY: as the caller promises.
    unsafe { with(caller, drain) }
}

/// Requests that the caller has executed itself because its host was late; 0 for null.
///
/// # Safety
/// As `coho_caller_set_patience`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_taken_back(caller: *const coho_caller) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { caller.as_ref() }.map_or(0, |caller| caller.0.taken_back())
}

/// Waits for all that was posted, and destroys the caller. Null is ignored.
///
/// # Safety
/// `caller` is null or came from `coho_caller_create`, and nobody will use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_caller_destroy(caller: *mut coho_caller) {
    if !caller.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(caller) });
    }
}

/// # Safety
/// As `coho_caller_set_patience`.
unsafe fn with(
    caller: *mut coho_caller,
    work: impl FnOnce(&mut Caller) -> coho_delegate_status,
) -> coho_delegate_status {
    // SAFETY: as the caller promises.
    unsafe { caller.as_mut() }.map_or(COHO_DELEGATE_INVALID, |caller| work(&mut caller.0))
}

/// # Safety
/// As `coho_caller_post`.
unsafe fn post(caller: *mut coho_caller, request: Request, out: *mut u64) -> coho_delegate_status {
    let post = |caller: &mut Caller| {
        // SAFETY: as the caller promises.
        let ticket = unsafe { caller.post(request) };
        if !out.is_null() {
            // SAFETY: as above.
            unsafe { out.write(ticket.0) };
        }
        COHO_DELEGATE_OK
    };
    // SAFETY: as above.
    unsafe { with(caller, post) }
}

/// # Safety
/// As `coho_caller_wait`.
unsafe fn look(
    caller: *mut coho_caller,
    ticket: u64,
    out: *mut isize,
    answer: impl FnOnce(&mut Caller) -> Option<isize>,
) -> coho_delegate_status {
    let look = |caller: &mut Caller| {
        if !caller.gave(Ticket(ticket)) {
            return COHO_DELEGATE_INVALID;
        }
        if !caller.keeps(Ticket(ticket)) {
            return COHO_DELEGATE_GONE;
        }
        let Some(answer) = answer(caller) else { return COHO_DELEGATE_PENDING };
        if !out.is_null() {
            // SAFETY: as the caller promises.
            unsafe { out.write(answer) };
        }
        COHO_DELEGATE_OK
    };
    // SAFETY: as above.
    unsafe { with(caller, look) }
}

/// The highest number stands for no end.
fn duration(nanoseconds: u64) -> Duration {
    if nanoseconds == u64::MAX { Duration::MAX } else { Duration::from_nanos(nanoseconds) }
}
