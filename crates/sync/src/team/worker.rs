//! The life of a team's thread: from its bench to the runs and back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fork::{Fork, Order, Words};
use super::member::Member;
use super::state::State;
use crate::wait::{Crowding, Patience};

/// The body of a run, called for a member.
///
/// # Safety
/// The words must be those that the function expects.
pub(super) type Body = unsafe fn(&Member<'_>, Words);

/// What the thread does until it is dismissed. It begins in this crowd, and `patience` is that of a thread in a crowd.
pub(super) fn work(
    rank: usize,
    fork: &Fork,
    mut crowding: Crowding,
    patience: impl Fn(Crowding) -> Patience,
) {
    let mut heard = 0;
    let mut learnt = patience(crowding);
    while let Some(mut seat) = fork.sit(rank, &mut heard, &learnt) {
        if seat.crowding() != crowding {
            crowding = seat.crowding();
            learnt = patience(crowding);
        }
        loop {
            let order = fork.await_start(&mut seat, &learnt);
            let parts = order.call.is_null();
            let result = if parts { 0 } else { run(rank, order) };
            fork.finish(seat, result);
            if parts {
                break;
            }
        }
    }
}

/// The order to run a body whose type only the run knows.
pub(super) fn order<F: Fn(&Member<'_>) + Sync>(body: &F, state: &State) -> Order {
    /// # Safety
    /// The first word leads to a live `F`.
    unsafe fn call<F: Fn(&Member<'_>) + Sync>(member: &Member<'_>, [body, ..]: Words) {
        // SAFETY: as the caller promises.
        unsafe { (*body.cast::<F>())(member) }
    }
    let null = std::ptr::null_mut();
    order_of_words(call::<F>, [std::ptr::from_ref(body).cast_mut().cast(), null, null], state)
}

/// The order to run a body by its words.
pub(super) fn order_of_words(body: Body, words: Words, state: &State) -> Order {
    Order { call: body as *mut (), words, state: std::ptr::from_ref(state).cast_mut().cast() }
}

/// Runs a body as a member; returns how many constructs the member has met.
pub(super) fn run(rank: usize, order: Order) -> usize {
    // SAFETY: the leader made the order from a state and a body that it keeps until this rank has finished.
    let (state, call) =
        unsafe { (&*order.state.cast::<State>(), std::mem::transmute::<*mut (), Body>(order.call)) };
    let member = Member::new(rank, state);
    // SAFETY: as above; the call was made for this body.
    let body = || unsafe { call(&member, order.words) };
    // The caller of the run sees what a panic leaves behind only after the panic has been raised again.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        state.poison(payload);
    }
    member.met()
}
