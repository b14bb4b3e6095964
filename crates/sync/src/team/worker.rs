//! A team's thread: from its bench to the runs and back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fork::{Fork, Order};
use super::member::Member;
use super::state::State;
use crate::wait::Patience;

/// Calls the body of a run, whose type only the run knows, on behalf of a member.
///
/// # Safety
/// The pointer is that to the body that the function was made for, and the body is alive.
pub(super) type Trampoline = unsafe fn(*const (), &Member<'_>);

/// What the thread does until it is dismissed.
pub(super) fn work(rank: usize, fork: &Fork, patience: &Patience) {
    let mut heard = 0;
    while let Some(mut seat) = fork.sit(rank, &mut heard, patience) {
        loop {
            let order = fork.await_start(&mut seat, patience);
            let parts = order.call.is_null();
            let told = if parts { 0 } else { run(rank, order) };
            fork.finish(seat, told);
            if parts {
                break;
            }
        }
    }
}

/// The order to run a body.
pub(super) fn order<F: Fn(&Member<'_>) + Sync>(body: &F, state: &State) -> Order {
    /// # Safety
    /// `body` is a live `F`.
    unsafe fn call<F: Fn(&Member<'_>) + Sync>(body: *const (), member: &Member<'_>) {
        // SAFETY: as the caller promises.
        unsafe { (*body.cast::<F>())(member) }
    }
    let call: Trampoline = call::<F>;
    Order {
        call: call as *mut (),
        data: std::ptr::from_ref(body).cast_mut().cast(),
        state: std::ptr::from_ref(state).cast_mut().cast(),
    }
}

/// The order to go to the benches.
pub(super) fn part() -> Order {
    Order { call: std::ptr::null_mut(), data: std::ptr::null_mut(), state: std::ptr::null_mut() }
}

/// Runs a body as a member; returns how many constructs the member has met.
pub(super) fn run(rank: usize, order: Order) -> usize {
    // SAFETY: the leader made the order from a state and a body that it keeps until this rank has finished.
    let (state, call) =
        unsafe { (&*order.state.cast::<State>(), std::mem::transmute::<*mut (), Trampoline>(order.call)) };
    let member = Member::new(rank, state);
    // SAFETY: as above; the call was made for this body.
    let body = || unsafe { call(order.data, &member) };
    // What a panic leaves behind in the body, the caller of the run sees only after it has been raised again.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        state.poison(payload);
    }
    member.met()
}
