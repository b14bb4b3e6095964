//! A member's panic ends the others' waits, and the leader raises it again.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use crate::sync::AtomicBool;
use crate::sync::Ordering::{Acquire, Release};

pub(super) type Payload = Box<dyn Any + Send>;

/// The payload of a member that unwinds because its wait was interrupted; it is not raised again.
pub(super) struct Interrupted;

#[derive(Debug)]
pub(super) struct Poison {
    pub(super) spread: AtomicBool,
    payload: Mutex<Option<Payload>>,
}

impl Poison {
    pub(super) fn new() -> Self {
        Self { spread: AtomicBool::new(false), payload: Mutex::new(None) }
    }

    /// Keeps the first panic.
    pub(super) fn keep(&self, payload: Payload) {
        if !payload.is::<Interrupted>() {
            self.payload.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
        self.spread.store(true, Release);
    }

    pub(super) fn has_spread(&self) -> bool {
        self.spread.load(Acquire)
    }

    pub(super) fn take(&self) -> Option<Payload> {
        self.payload.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
