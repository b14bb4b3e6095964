//! Finding out in the running program which calls gain by delegation: `COHO_DELEGATE=auto`.
//!
//! Each thread decides for itself, for each kind of call: its name and how long its payload is. A trial consists of pairs of
//! blocks of calls, one block made at home and one delegated, in random order. What counts is the time from a block's first
//! call to the next block's: with what the program does between calls, so that what a call evicts from its caches is charged.

mod load;
mod table;
mod trial;
mod verdict;

use std::cell::Cell;

pub use table::{gather, print};
pub use trial::Trials;

use crate::calls::Call;
use crate::runtime;

/// Payloads up to these bytes are alike, and longer ones.
const CLASSES: [usize; 2] = [256, 4096];
/// Kinds of calls: each call with each class of payload.
pub const KINDS: usize = Call::ALL.len() * (CLASSES.len() + 1);

/// The call of a kind.
fn call_of(kind: usize) -> Call {
    Call::ALL[kind / (CLASSES.len() + 1)]
}

/// What a thread does with calls of a kind.
struct Choice {
    /// For this many calls, before it is decided anew.
    left: Cell<u32>,
    is_away: Cell<bool>,
    /// Whether these calls are tried: what is compared are calls that may be delegated.
    is_tried: Cell<bool>,
}

impl Choice {
    const fn new() -> Self {
        Self { left: Cell::new(0), is_away: Cell::new(false), is_tried: Cell::new(false) }
    }
}

thread_local! {
    // Needs no destructor: a handler may be the first to come here.
    static CHOICES: [Choice; KINDS] =
        const { [const { Choice::new() }; KINDS] };
}

#[inline(always)]
fn kind(call: Call, payload_bytes: usize) -> usize {
    let class = CLASSES.iter().filter(|&&most| payload_bytes > most).count();
    call as usize * (CLASSES.len() + 1) + class
}

/// Whether the calling thread makes this call itself without more ado, as it makes others between two trials.
#[inline(always)]
pub fn waits(call: Call, payload_bytes: usize) -> bool {
    CHOICES.with(|choices| {
        let choice = &choices[kind(call, payload_bytes)];
        let left = choice.left.get();
        let waits = left > 0 && !choice.is_away.get() && !choice.is_tried.get();
        if waits {
            choice.left.set(left - 1);
        }
        waits
    })
}

/// Whether the calling thread delegates this call. Each call that does not [wait](waits) asks once.
#[inline(always)]
pub fn is_away(call: Call, payload_bytes: usize) -> bool {
    let kind = kind(call, payload_bytes);
    CHOICES.with(|choices| {
        let choice = &choices[kind];
        match choice.left.get().checked_sub(1) {
            Some(left) => choice.left.set(left),
            None => think(kind, choice),
        }
        choice.is_away.get()
    })
}

/// Decides what to do with this call and some more.
#[cold]
fn think(kind: usize, choice: &Choice) {
    /// A handler has interrupted the thread while it was thinking, or the thread ends.
    const LATER: u32 = 64;
    let thought = runtime::with_mine(|mine| {
        let trials = mine.trials.as_mut()?;
        let thought = trials.think(kind, &mut mine.ways);
        Some((thought, trials.try_now() == Some(kind)))
    });
    let ((is_away, calls), is_tried) = thought.flatten().unwrap_or(((false, LATER), false));
    choice.is_away.set(is_away);
    choice.is_tried.set(is_tried);
    choice.left.set(calls - 1);
}
