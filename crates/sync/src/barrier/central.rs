//! Barriers with one counter and one flag that reverses: the last to arrive releases all others, or lets the first rank do so.

use std::sync::atomic::Ordering::Relaxed;

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
    lead: Option<Box<Padded<Lead>>>,
}

/// How the first rank comes to release the others.
///
/// Where threads share CPUs, those that leave first keep them for a time slice, though all they do may be to look at
/// memory of their own until the first rank has done something: it must not queue behind them. That it does so shows in
/// the time that it is away when it yields; for a number of barriers after that, it leaves first. But who wakes sleepers
/// must itself make room for them, and so the last to arrive does if there are any.
#[derive(Debug)]
struct Lead {
    /// Raised by the last to arrive.
    complete: Flag,
    /// For how many barriers the first rank will release the others, and how many it will be the next time. Only it
    /// writes them. They order nothing, so they are hidden from the model checker.
    left: std::sync::atomic::AtomicU32,
    next: std::sync::atomic::AtomicU32,
    /// How often it had been away by the last barrier at which it waited.
    away: std::sync::atomic::AtomicU32,
}

/// For how many barriers the first rank leads, at first and at most.
const FIRST_LEAD: u32 = 1 << 12;
const LONGEST_LEAD: u32 = 1 << 20;

impl<C: Counter> Central<C> {
    pub(super) fn new(threads: usize, bell: Bell) -> Self {
        Self {
            counter: Padded(C::new(threads)),
            generation: Padded(Flag::new()),
            bell: Padded(bell),
            lead: None,
        }
    }

    /// One whose first rank may release the others.
    pub(super) fn led(self) -> Self {
        let lead = Lead { complete: Flag::new(), left: 0.into(), next: FIRST_LEAD.into(), away: 0.into() };
        Self { lead: Some(Box::new(Padded(lead))), ..self }
    }

    #[inline]
    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        let is_last = !call.again && self.counter.count();
        if let Some(lead) = &self.lead {
            return self.wait_led(call, is_last, lead);
        }
        if is_last {
            self.release(call.number);
            return Ok(());
        }
        call.waiter.until(&self.generation, call.previous, &self.bell)
    }

    fn wait_led(&self, call: Call<'_>, is_last: bool, lead: &Lead) -> Result<(), Ended> {
        if is_last {
            lead.complete.raise(call.number);
        }
        if call.rank == 0 {
            if !is_last {
                call.waiter.until(&lead.complete, call.previous, &self.bell)?;
                lead.count(call.waiter.patience.robberies());
            }
            if self.generation.has_left(call.previous) {
                return Ok(());
            }
        } else if !is_last
            || lead.left.load(Relaxed) > 0 && call.waiter.patience.yields() && !self.bell.is_awaited()
        {
            return call.waiter.until(&self.generation, call.previous, &self.bell);
        }
        // If two do this, the second changes nothing: no barrier ends before the first rank has come to it.
        self.release(call.number);
        Ok(())
    }

    fn release(&self, number: u8) {
        self.generation.raise(number);
        self.bell.ring();
    }

    /// The bell at which all waiting threads sleep.
    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }
}

impl Lead {
    /// Counts a barrier at which the first rank has waited. So often it has been away when it yielded.
    fn count(&self, away: u32) {
        let was_away = self.away.load(Relaxed) != away;
        if was_away {
            self.away.store(away, Relaxed);
        }
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
        } else if was_away {
            let next = self.next.load(Relaxed);
            self.left.store(next, Relaxed);
            self.next.store((2 * next).min(LONGEST_LEAD), Relaxed);
        }
    }
}
