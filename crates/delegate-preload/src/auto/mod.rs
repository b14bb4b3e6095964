//! Finding out in the running program which calls gain by delegation: `COHO_DELEGATE=auto`.
//!
//! Each thread decides for itself, for each kind of call: its name and how long its payload is. A trial consists of pairs of
//! blocks of calls, one block made at home and one delegated, in random order. What counts is the time from a block's first
//! call to the next block's: with what the program does between calls, so that what a call evicts from its caches is charged.

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
    /// For so many calls, before somebody thinks about it again.
    left: Cell<u32>,
    is_away: Cell<bool>,
}

thread_local! {
    // Needs no destructor: a handler may be the first to come here.
    static CHOICES: [Choice; KINDS] =
        const { [const { Choice { left: Cell::new(0), is_away: Cell::new(false) } }; KINDS] };
}

/// Whether the calling thread delegates this call. Each call asks once.
#[inline(always)]
pub fn is_away(call: Call, payload_bytes: usize) -> bool {
    let class = CLASSES.iter().filter(|&&most| payload_bytes > most).count();
    let kind = call as usize * (CLASSES.len() + 1) + class;
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
    let (is_away, calls) =
        runtime::with_mine(|mine| mine.trials.think(kind, &mut mine.ways)).unwrap_or((false, LATER));
    choice.is_away.set(is_away);
    choice.left.set(calls - 1);
}
