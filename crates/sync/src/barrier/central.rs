//! Barriers with one counter and one flag that reverses: the last to arrive releases all others.

use super::call::Call;
use super::counter::Counter;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::{Bell, Ended};

#[derive(Debug)]
pub(super) struct Central<C> {
    counter: Padded<C>,
    /// The sense. It is written once per barrier, and so not on the counter's line.
    generation: Padded<Flag>,
    bell: Padded<Bell>,
}

impl<C: Counter> Central<C> {
    pub(super) fn new(threads: usize, bell: Bell) -> Self {
        Self { counter: Padded(C::new(threads)), generation: Padded(Flag::new()), bell: Padded(bell) }
    }

    #[inline(always)]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        if !call.again && self.counter.count() {
            self.generation.raise(call.number);
            self.bell.ring();
            return Ok(());
        }
        call.waiter.until(&self.generation, call.previous, &self.bell)
    }

    /// The bell at which all waiting threads sleep.
    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }
}
