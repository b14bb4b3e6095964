//! What the members of a team share while they run; it is made anew when the team changes its size or has panicked.

use std::sync::Mutex;

use super::construct::Constructs;
use super::poison::{Payload, Poison};
use super::reduce::Values;
use crate::barrier::Barrier;
use crate::wait::Crowding;

#[derive(Debug)]
pub(super) struct State {
    pub(super) barrier: Barrier,
    /// Apart from `barrier`, so that a member that calls `reduce` where another calls `barrier` cannot take it for a
    /// fellow.
    pub(super) reduction: Barrier,
    pub(super) values: Values,
    pub(super) constructs: Constructs,
    pub(super) critical: Mutex<()>,
    pub(super) poison: Poison,
    /// How many constructs the members had met before this run.
    pub(super) met: usize,
    pub(super) crowding: Crowding,
}

impl State {
    /// Ends everybody's waits.
    pub(super) fn poison(&self, payload: Payload) {
        self.poison.keep(payload);
        self.barrier.wake();
        self.reduction.wake();
        self.constructs.wake();
    }
}
