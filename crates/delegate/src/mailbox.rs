//! What a caller and its host share.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ring::{Position, Ring};

/// A caller's lines, and memory for payloads.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) ring: Ring,
    /// As many bytes for each line.
    slots: Box<[SlotLine]>,
    slot_bytes: usize,
}

/// A part of a slot. No two slots share a line.
#[derive(Debug)]
#[repr(align(64))]
struct SlotLine(#[expect(dead_code, reason = "only used by its address")] UnsafeCell<[u8; SLOT_LINE_BYTES]>);

const SLOT_LINE_BYTES: usize = 64;

impl SlotLine {
    /// Its bytes, and those of the lines behind it that the pointer may be used for.
    fn bytes(line: *const Self) -> *mut u8 {
        let cell: *const UnsafeCell<[u8; SLOT_LINE_BYTES]> = line.cast();
        UnsafeCell::raw_get(cell).cast()
    }
}

// SAFETY: a slot belongs to whoever may write its line: the caller, and the executor while its request is claimed.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    pub(crate) fn new(lines: usize, slot_bytes: usize) -> Self {
        let ring = Ring::new(lines);
        let slots = (0..ring.len() * slot_bytes.div_ceil(SLOT_LINE_BYTES))
            .map(|_| SlotLine(UnsafeCell::new([0; SLOT_LINE_BYTES])))
            .collect();
        Self { ring, slots, slot_bytes }
    }

    /// The slot of a position's line.
    pub(crate) fn slot(&self, position: Position) -> *mut [u8] {
        let lines = self.slot_bytes.div_ceil(SLOT_LINE_BYTES);
        let from = self.ring.index(position) * lines;
        // Of all its lines, which follow each other.
        let slot = self.slots[from..from + lines].as_ptr();
        std::ptr::slice_from_raw_parts_mut(SlotLine::bytes(slot), self.slot_bytes)
    }
}

/// What a host and its callers share.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    mailboxes: Mutex<Vec<Arc<Mailbox>>>,
    /// How often the list has changed.
    changes: AtomicUsize,
    ends: AtomicBool,
    served: AtomicU64,
}

impl Desk {
    pub(crate) fn add(&self, mailbox: &Arc<Mailbox>) {
        self.list().push(Arc::clone(mailbox));
        self.changes.fetch_add(1, AcqRel);
    }

    pub(crate) fn remove(&self, mailbox: &Arc<Mailbox>) {
        self.list().retain(|other| !Arc::ptr_eq(other, mailbox));
        self.changes.fetch_add(1, AcqRel);
    }

    pub(crate) fn list(&self) -> MutexGuard<'_, Vec<Arc<Mailbox>>> {
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Acquire)
    }

    /// Makes the host end once there is nothing to do.
    pub(crate) fn end(&self) {
        self.ends.store(true, Release);
    }

    pub(crate) fn ends(&self) -> bool {
        self.ends.load(Acquire)
    }

    /// Host: one more.
    #[inline(always)]
    pub(crate) fn count(&self) {
        self.served.store(self.served.load(Relaxed) + 1, Relaxed);
    }

    pub(crate) fn served(&self) -> u64 {
        self.served.load(Relaxed)
    }
}
