//! What each thread does with each kind of calls under `COHO_DELEGATE=auto`: make them itself, delegate them, or try both.

use std::cell::Cell;

use coho_preload::Errno;

use crate::auto::{KINDS, kind};
use crate::calls::Call;
use crate::guards::FloatingPoint;
use crate::mine::with_mine;

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

/// Decides what to do with this call and some more, by arithmetic of its own.
#[cold]
fn think(kind: usize, choice: &Choice) {
    let (_errno, _floating_point) = (Errno::kept(), FloatingPoint::own());
    decide(kind, choice);
}

#[inline(never)]
fn decide(kind: usize, choice: &Choice) {
    /// A handler has interrupted the thread while it was thinking, or the thread ends.
    const LATER: u32 = 64;
    let thought = with_mine(|mine| {
        let trials = mine.trials.as_mut()?;
        let thought = trials.think(kind, &mut mine.ways);
        Some((thought, trials.try_now() == Some(kind)))
    });
    let ((is_away, calls), is_tried) = thought.flatten().unwrap_or(((false, LATER), false));
    choice.is_away.set(is_away);
    choice.is_tried.set(is_tried);
    choice.left.set(calls - 1);
}
