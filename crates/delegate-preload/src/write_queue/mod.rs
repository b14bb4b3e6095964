//! Writes that return before they are done.
//!
//! All of the process's go through one queue to one host, so that they are done in the order in which they were accepted,
//! whoever wrote, through whichever descriptor. The payload is copied. What others could observe waits until the queue is
//! empty: [`drain`].

mod ages;
mod copy;
mod lock;
mod office;
mod pace;
mod queue;

use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, compiler_fence};

use coho_preload::line;
use libc::c_int;
use lock::Lock;
use office::Office;
use queue::DONE;

use crate::delegation::writes_later;
use crate::descriptors::MOST;
use crate::descriptors::errors::{take_error, tell};
use crate::readable::is_readable;
use crate::sharing::{self, LOOK};
use crate::thread::this;
use crate::{hosts, state};

/// Writes on their way, and the longest.
const LINES: usize = 16;
const SLOT_BYTES: usize = 16 << 10;
/// Whether there may be writes that are not done.
pub static PENDING: AtomicBool = AtomicBool::new(false);
/// The same, where calls that stdio makes cannot be seen: its functions wait in their place.
pub static UNSEEN: AtomicBool = AtomicBool::new(false);
static OFFICE: Lock<Office> = Lock::new(Office::new());
/// Writes that are done at once before somebody looks whether the host is worth asking again.
static UNASKED: AtomicU32 = AtomicU32::new(0);
/// Writes accepted: changed at the queue alone.
static ACCEPTED: AtomicU64 = AtomicU64::new(0);
/// Whether writes are done at once for a while, without another look.
#[inline(always)]
pub fn rests() -> bool {
    let left = UNASKED.load(Relaxed);
    left > 0 && {
        // Of two threads, one may count for both.
        UNASKED.store(left - 1, Relaxed);
        true
    }
}

/// Accepts a write if it can be done later: returns what the call does. `None`: it is to be done now.
pub fn accept(descriptor: c_int, buffer: *const c_void, bytes: usize) -> Option<isize> {
    if bytes == 0 || bytes > SLOT_BYTES || !is_readable_throughout(buffer as usize, bytes) {
        return None;
    }
    if this().at_queue.get() || this().at_once.get() {
        // The first: a handler has interrupted this thread at the queue.
        return None;
    }
    let accepted = this().accepted.get();
    if accepted.is_multiple_of(LOOK) && !sharing::look_at_all() {
        return None;
    }
    this().accepted.set(accepted + 1);
    comes_to_queue(true);
    let mut office = OFFICE.lock();
    // It may have ended meanwhile.
    let accepted = writes_later() && office.goes_on() && {
        // SAFETY: handed on.
        unsafe { office.add(descriptor, buffer.cast(), bytes) }
    };
    drop(office);
    comes_to_queue(false);
    accepted.then_some(bytes as isize)
}

/// The calling thread is about to take the queue, or has left it. A handler that interrupts it meanwhile must know, or it
/// would wait for the thread that it has interrupted: the compiler is not to move this past the lock.
#[inline(always)]
fn comes_to_queue(comes: bool) {
    compiler_fence(SeqCst);
    this().at_queue.set(comes);
    compiler_fence(SeqCst);
}

/// Has all writes within done before they return.
pub fn at_once<T>(work: impl FnOnce() -> T) -> T {
    let before = this().at_once.replace(true);
    let result = work();
    this().at_once.set(before);
    result
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

/// Prints what waiting for writes has led to; nothing if a handler has interrupted the calling thread at the queue, whose
/// lock it may hold.
pub fn print() {
    if this().at_queue.get() {
        return;
    }
    let found = OFFICE.lock().pace.found();
    if let Some((times, way)) = found {
        let now = match way {
            pace::Way::Home => "made at home",
            pace::Way::Later => "done later",
        };
        line(
            "delegate",
            format_args!("writes had to be waited for: after {times} comparisons, they are {now}"),
        );
    }
}

#[cold]
fn drain_all() {
    if hosts::is_host() {
        return;
    }
    if this().at_queue.get() || state::is_at_home() {
        // A handler, or a thread that must not hold the queue: the host does without the queue's owner.
        let accepted = ACCEPTED.load(Acquire);
        while DONE.0.load(Acquire) < accepted && !state::is_forked() {
            std::thread::yield_now();
        }
        return;
    }
    comes_to_queue(true);
    let mut office = OFFICE.lock();
    if !state::is_forked() {
        if office.queue.as_mut().is_some_and(|queue| queue.way.caller.room() < LINES) {
            office.is_waited_for();
            office.wait_until(|queue| queue.way.caller.room() == LINES);
        }
        office.queue.iter_mut().for_each(|queue| queue.ages.clear());
    }
    is_empty();
    drop(office);
    comes_to_queue(false);
}

/// There are none: all are done, or it is another process's matter.
pub fn is_empty() {
    PENDING.store(false, Relaxed);
    UNSEEN.store(false, Relaxed);
}

/// At the end: waits, and says what nobody was told.
pub fn end() {
    drain();
    for descriptor in 0..MOST as c_int {
        if let Some(number) = take_error(descriptor) {
            tell(descriptor as usize, number);
        }
    }
}

fn is_readable_throughout(from: usize, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    from.checked_add(bytes)
        .is_some_and(|end| (from / PAGE..=(end - 1) / PAGE).all(|page| is_readable(page * PAGE)))
}
