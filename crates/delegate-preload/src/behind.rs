//! Writes that return before they are done.
//!
//! All of the process's go through one queue to one host, so that they are done in the order in which they were accepted,
//! whoever wrote, through whichever descriptor. The payload is copied. What others could observe waits until the queue is
//! empty: [`drain`].

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use coho_delegate::{Caller, Request};
use coho_preload::line;
use libc::c_int;

use crate::descriptors::MOST;
use crate::readable::is_readable;
use crate::runtime;

/// Writes on their way, and the longest.
const LINES: usize = 16;
const SLOT_BYTES: usize = 16 << 10;
/// A wait for room that was this long means that the host is off its CPU; writes are then made at home for a multiple of it.
const HELD_UP: Duration = Duration::from_micros(500);
const REST: u32 = 16;

/// Whether there may be writes that are not done.
pub static PENDING: AtomicBool = AtomicBool::new(false);
static QUEUE: Mutex<Option<Queue>> = Mutex::new(None);
/// Writes accepted, and done.
static ACCEPTED: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);
/// For each descriptor, the error of a write that had been accepted, until it is reported.
static ERRORS: [AtomicI32; MOST] = [const { AtomicI32::new(0) }; MOST];
static RESTS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// This thread holds the queue, or is about to.
    static AT_QUEUE: Cell<bool> = const { Cell::new(false) };
}

struct Queue {
    caller: Caller,
    rest_until: Option<Instant>,
}

/// Accepts a write if it can be done later: returns what the call does. `None`: it is to be done now.
pub fn accept(descriptor: c_int, buffer: *const c_void, bytes: usize) -> Option<isize> {
    if bytes == 0 || bytes > SLOT_BYTES || !is_readable_throughout(buffer as usize, bytes) {
        return None;
    }
    if AT_QUEUE.get() {
        // A handler that has interrupted this thread at the queue.
        return None;
    }
    AT_QUEUE.set(true);
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    // It may have ended meanwhile.
    let accepted =
        queue_of(&mut queue).filter(|_| runtime::writes_later()).filter(Queue::is_open).map(|queue| {
            let begun = (queue.caller.room() == 0).then(Instant::now);
            let slot = queue.caller.slot();
            // SAFETY: the buffer can be read, and the slot is as long.
            unsafe { std::ptr::copy_nonoverlapping(buffer.cast(), slot.as_mut_ptr(), bytes) };
            let arguments = [descriptor as usize, slot.as_ptr() as usize, bytes, 0, 0];
            PENDING.store(true, Relaxed);
            ACCEPTED.fetch_add(1, Relaxed);
            // SAFETY: the slot is the request's own until it is done.
            unsafe { queue.caller.post(Request::function(write_all, arguments)) };
            if let Some(waited) = begun.map(|begun| begun.elapsed()).filter(|&waited| waited > HELD_UP) {
                queue.rest_until = Some(Instant::now() + waited * REST);
                RESTS.store(true, Relaxed);
            }
            bytes as isize
        });
    drop(queue);
    AT_QUEUE.set(false);
    accepted
}

fn queue_of(queue: &mut Option<Queue>) -> Option<&mut Queue> {
    if queue.is_none() {
        let mut caller = runtime::new_caller(LINES, SLOT_BYTES)?;
        // The host alone executes, so that a handler may wait for it wherever it has interrupted its thread.
        caller.set_patience(Duration::MAX);
        *queue = Some(Queue { caller, rest_until: None });
    }
    queue.as_mut()
}

impl Queue {
    fn is_open(self: &&mut Self) -> bool {
        if RESTS.load(Relaxed) && self.rest_until.is_some_and(|until| Instant::now() >= until) {
            RESTS.store(false, Relaxed);
        }
        !RESTS.load(Relaxed)
    }
}

/// Host: writes all, unless an earlier write to the descriptor has failed, which nobody knows of yet.
unsafe fn write_all([descriptor, at, bytes, ..]: [usize; 5]) -> isize {
    let error = &ERRORS[descriptor];
    let mut written = 0;
    while written < bytes && error.load(Relaxed) == 0 {
        let arguments = [descriptor, at + written, bytes - written, 0, 0, 0];
        // SAFETY: the slot holds as much.
        match unsafe { Request::system(libc::SYS_write, arguments).execute().result() } {
            Ok(0) => error.store(libc::EIO, Release),
            Ok(more) => written += more,
            Err(libc::EINTR) => {}
            Err(number) => error.store(number, Release),
        }
    }
    DONE.fetch_add(1, Release);
    written as isize
}

/// Waits until all that was accepted is done.
#[inline(always)]
pub fn drain() {
    if PENDING.load(Relaxed) {
        drain_all();
    }
}

/// Writes accepted so far.
pub fn accepted() -> u64 {
    ACCEPTED.load(Relaxed)
}

#[cold]
fn drain_all() {
    if runtime::is_host() {
        return;
    }
    if AT_QUEUE.get() {
        // A handler: the host does without the queue's owner.
        let accepted = ACCEPTED.load(Relaxed).saturating_sub(1);
        while DONE.load(Acquire) < accepted && !runtime::is_forked() {
            std::hint::spin_loop();
        }
        return;
    }
    AT_QUEUE.set(true);
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(queue) = queue.as_mut().filter(|_| !runtime::is_forked()) {
        queue.caller.drain();
    }
    PENDING.store(false, Relaxed);
    drop(queue);
    AT_QUEUE.set(false);
}

/// The error of a write that was accepted, once.
pub fn take_error(descriptor: c_int) -> Option<c_int> {
    let error = ERRORS.get(usize::try_from(descriptor).ok()?)?;
    if error.load(Acquire) == 0 {
        return None;
    }
    Some(error.swap(0, Relaxed)).filter(|&number| number != 0)
}

/// At the end: waits, and says what nobody was told.
pub fn end() {
    drain();
    for descriptor in 0..MOST as c_int {
        if let Some(number) = take_error(descriptor) {
            let why = std::io::Error::from_raw_os_error(number);
            line("delegate", format_args!("not all was written to descriptor {descriptor}: {why}"));
        }
    }
}

fn is_readable_throughout(from: usize, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    from.checked_add(bytes)
        .is_some_and(|end| (from / PAGE..=(end - 1) / PAGE).all(|page| is_readable(page * PAGE)))
}
