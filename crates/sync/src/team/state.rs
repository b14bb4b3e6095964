//! What the members of a team share while they run; it is created anew when the team changes its size or a member has
//! panicked.

use std::sync::{Arc, Mutex};

use super::construct::Constructs;
use super::fork::Fork;
use super::poison::{Payload, Poison};
use super::reduce::Values;
use crate::barrier::Barrier;
use crate::wait::Crowding;

#[derive(Debug)]
pub(super) struct State {
    pub(super) barrier: Barrier,
    /// Separate from `barrier`, so that a member that calls `reduce` cannot meet one that calls `barrier`.
    pub(super) reduction: Barrier,
    pub(super) values: Values,
    pub(super) constructs: Constructs,
    pub(super) critical: Mutex<()>,
    pub(super) poison: Poison,
    /// How many constructs the members had met before this run.
    pub(super) met: usize,
    pub(super) crowding: Crowding,
    /// Where members wait between runs.
    pub(super) fork: Arc<Fork>,
    /// How many members can run at once, if the caller has said so.
    pub(super) at_once: Option<usize>,
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
