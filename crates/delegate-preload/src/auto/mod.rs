//! Finding out in the running program which calls gain by delegation: `COHO_DELEGATE=auto`.
//!
//! Each thread decides for itself, in `choices`, for each kind of call: its name and how long its payload is. A trial consists of pairs of
//! blocks of calls, one block made at home and one delegated, in random order. What counts is the time from a block's first
//! call to the next block's: with what the program does between calls, so that what a call evicts from its caches is charged.

mod load;
mod table;
mod trial;
mod verdict;

pub use load::processor_time;
pub use table::{gather, print};
pub use trial::Trials;

use crate::calls::Call;

/// Payloads up to these bytes are alike, and longer ones.
const CLASSES: [usize; 2] = [256, 4096];
/// Kinds of calls: each call with each class of payload.
pub const KINDS: usize = Call::ALL.len() * (CLASSES.len() + 1);

/// The call of a kind.
fn call_of(kind: usize) -> Call {
    Call::ALL[kind / (CLASSES.len() + 1)]
}

/// The kind of a call with so long a payload.
#[inline(always)]
pub fn kind(call: Call, payload_bytes: usize) -> usize {
    let class = CLASSES.iter().filter(|&&most| payload_bytes > most).count();
    call as usize * (CLASSES.len() + 1) + class
}
