//! The queue itself: what is on its way to the host, and what the host does with it.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use coho_delegate::Request;
use libc::c_int;

use super::ages::Ages;
use super::{ACCEPTED, PENDING, UNSEEN, copy};
use crate::descriptors::errors;
use crate::guards::Blocked;
use crate::hooks;
use crate::hosts::Way;

/// Writes done.
pub static DONE: Apart = Apart(AtomicU64::new(0));

/// In cache lines of its own: the host writes to it while others read what is beside it.
#[repr(align(128))]
pub struct Apart(pub AtomicU64);

/// Writes on their way, and how long each has been.
pub struct Queue {
    pub way: Way,
    pub ages: Ages,
}

impl Queue {
    /// Does what is accepted and not begun, and waits for what is.
    pub fn take_back(&mut self) {
        let _blocked = Blocked::all();
        self.way.caller.set_patience(Duration::ZERO);
        self.way.caller.drain();
        self.way.caller.set_patience(Duration::MAX);
        self.ages.clear();
    }

    /// Adds a write.
    ///
    /// # Safety
    /// The buffer, no longer than a slot, can be read.
    #[inline(always)]
    pub unsafe fn add(&mut self, now: u64, descriptor: c_int, buffer: *const u8, bytes: usize) {
        let slot = self.way.caller.slot();
        // SAFETY: as the caller promises.
        unsafe { copy::copy(buffer, slot.as_mut_ptr(), bytes) };
        let arguments = [descriptor as usize, slot.as_ptr() as usize, bytes, 0, 0];
        PENDING.store(true, Relaxed);
        UNSEEN.store(!hooks::see_stdio(), Relaxed);
        // SAFETY: the slot is the request's own until it is done.
        let ticket = unsafe { self.way.caller.post(Request::function(write_all, arguments)) };
        // Behind the post: a handler waits for all that is counted, and can wait for no more.
        ACCEPTED.store(ACCEPTED.load(Relaxed) + 1, Release);
        self.ages.add(now, ticket);
    }

    /// Whether no write was accepted too long ago that is not done.
    pub fn are_none_overdue(&mut self, now: u64) -> bool {
        while let Some(ticket) = self.ages.overdue(now) {
            if self.way.caller.poll(ticket).is_none() {
                return false;
            }
            self.ages.is_done();
        }
        true
    }
}

/// Host: writes all, unless an earlier write to the descriptor has failed, which nobody knows of yet.
unsafe fn write_all([descriptor, at, bytes, ..]: [usize; 5]) -> isize {
    let mut written = 0;
    while written < bytes && !errors::is_set(descriptor) {
        let arguments = [descriptor, at + written, bytes - written, 0, 0, 0];
        // SAFETY: the slot holds as much.
        match unsafe { Request::system(libc::SYS_write, arguments).execute().result() } {
            Ok(0) => errors::set(descriptor, libc::EIO),
            Ok(more) => written += more,
            Err(libc::EINTR) => {}
            Err(number) => errors::set(descriptor, number),
        }
    }
    DONE.0.fetch_add(1, Release);
    written as isize
}

/// Host: shows by its answer that it is awake.
pub unsafe fn nothing(_: [usize; 5]) -> isize {
    0
}
