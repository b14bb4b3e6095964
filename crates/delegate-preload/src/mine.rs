//! What a thread has once it delegates: its ways to hosts, and its trials.

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use coho_delegate::Caller;

use crate::auto::{self, Trials};
use crate::calls::Call;
use crate::guards::may_be_handler;
use crate::hosts::{self, Way};
use crate::sharing::{self, LOOK};
use crate::thread::this;
use crate::{cpus, state};

/// Delegated calls of threads that have ended.
static AWAY: AtomicU64 = AtomicU64::new(0);

/// A thread's.
pub struct Mine {
    /// One to each team, or none.
    pub ways: Vec<Way>,
    /// Not in the thread's own storage, of which a library that is opened late has little. There once it is ready.
    pub trials: Option<Box<Trials>>,
    away: u64,
}

impl Drop for Mine {
    fn drop(&mut self) {
        AWAY.fetch_add(self.away, Relaxed);
        cpus::forget();
        if state::is_forked() {
            // The host's thread runs in the parent alone: here nobody would answer.
            std::mem::forget(std::mem::take(&mut self.ways));
        } else {
            self.trials.iter().for_each(|trials| auto::gather(trials));
        }
    }
}

thread_local! {
    static MINE: RefCell<Mine> = const { RefCell::new(Mine { ways: Vec::new(), trials: None, away: 0 }) };
}

/// Calls that this thread and those that have ended have delegated.
pub fn delegated() -> u64 {
    let own = with_mine(|mine| mine.away).unwrap_or(0);
    AWAY.load(Acquire) + own
}

/// Uses this thread's caller for a call. `None`: it has none, or this is a handler that has interrupted its use.
pub fn with_caller<T>(call: Call, work: impl FnOnce(&mut Caller) -> T) -> Option<T> {
    if !this().is_ready.get() {
        return None;
    }
    let done = MINE.try_with(|mine| {
        // Borrowed: this is a handler that has interrupted a call.
        let mut mine = mine.try_borrow_mut().ok()?;
        if mine.away.is_multiple_of(LOOK) && !sharing::look_at_all() {
            return None;
        }
        let answer = work(&mut mine.ways.get_mut(state::teams().of(call))?.caller);
        mine.away += 1;
        Some(answer)
    });
    done.ok().flatten()
}

/// What this thread has. `None`: a handler has interrupted the thread where it uses that already, or the thread ends.
pub fn with_mine<T>(work: impl FnOnce(&mut Mine) -> T) -> Option<T> {
    if !this().is_ready.get() {
        if this().is_becoming_ready.get() || may_be_handler() || !hosts::has_memory(0) {
            return None;
        }
        this().is_becoming_ready.set(true);
        let trials = Some(Box::new(Trials::new()));
        let is_ready = MINE.try_with(|mine| mine.borrow_mut().trials = trials).is_ok();
        this().is_becoming_ready.set(false);
        this().is_ready.set(is_ready);
    }
    MINE.try_with(|mine| Some(work(&mut *mine.try_borrow_mut().ok()?))).ok().flatten()
}
