//! Whether the next write is done later, and waiting for those that are on their way.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use coho_delegate::{Request, Rest};
use coho_preload::Errno;
use libc::c_int;

use super::ages::{Ages, ticks};
use super::pace::{self, LOOK, Pace};
use super::queue::{DONE, Queue, nothing};
use super::{ACCEPTED, LINES, SLOT_BYTES, UNASKED, is_empty};
use crate::calls::Call;
use crate::guards::{Blocked, NotCancelled, may_be_handler};
use crate::{hosts, state};

/// Pauses between two looks at the clock.
const LOOKS: u32 = 16;
/// A host that finishes no write for so long, or as long as the patience that is set, is taken to be off its CPU: the thread that
/// waits does what it has not begun. Interrupts and hypervisors stop a CPU for some 30 to 100 us now and then.
const PATIENCE: Duration = Duration::from_micros(100);
/// For so long an idle host may need to begin.
const WAKING: Duration = Duration::from_millis(2);
/// With so much patience hosts execute all that is asked of them.
const EXECUTES_ALL: Duration = Duration::from_secs(1);

/// Writes that are done at once at a time.
const CALLS: u32 = 16;
/// The host ends after this many times.
const LONG_PAUSE: u32 = 128;

/// The queue, if there is one now, and what is known of whether to use it.
pub struct Office {
    pub queue: Option<Queue>,
    rest: Rest,
    pub pace: Pace,
    epoch: Option<Instant>,
    pauses: u32,
    /// The host had nothing to do during a rest, and sleeps perhaps.
    sleeps: bool,
    /// A request is on its way that shows when it is awake.
    is_called: bool,
}

impl Office {
    pub const fn new() -> Self {
        Self {
            queue: None,
            rest: Rest::new(),
            pace: Pace::new(),
            epoch: None,
            pauses: 0,
            sleeps: false,
            is_called: false,
        }
    }

    /// Whether the next write is done later.
    #[inline(always)]
    pub fn goes_on(&mut self) -> bool {
        if self.rest.lasts(|| since(self.epoch)) {
            self.pauses();
            return false;
        }
        (!self.sleeps || self.wakes())
            && (self.pace.is_free() || self.decides())
            && (self.queue.is_some() || self.open())
    }

    /// Has some writes done at once. A host that nobody asks for long ends: beside it calls at home take longer.
    #[cold]
    fn pauses(&mut self) {
        UNASKED.store(CALLS, Relaxed);
        self.sleeps = true;
        self.pauses += 1;
        if self.pauses.is_multiple_of(LONG_PAUSE) {
            self.close();
        }
    }

    /// Whether the host is awake after a rest. Without this look, the first writes would find it late, and begin the next rest.
    #[cold]
    fn wakes(&mut self) -> bool {
        if let Some(queue) = self.queue.as_mut()
            && (!self.is_called || queue.way.caller.room() < LINES)
        {
            if !self.is_called && queue.way.caller.room() == LINES {
                queue.ages.clear();
                // SAFETY: the function takes anything.
                unsafe { queue.way.caller.post(Request::function(nothing, [0; 5])) };
                self.is_called = true;
            }
            UNASKED.store(CALLS, Relaxed);
            return false;
        }
        (self.sleeps, self.is_called) = (false, false);
        true
    }

    /// As [`goes_on`](Self::goes_on), where both ways are being compared, or writes are made at home.
    #[cold]
    fn decides(&mut self) -> bool {
        let goes_on = self.pace.next(ticks(), ACCEPTED.load(Relaxed)) == pace::Way::Later;
        if !goes_on {
            UNASKED.store(LOOK - 1, Relaxed);
            self.close();
        }
        goes_on
    }

    /// Makes a queue.
    #[cold]
    fn open(&mut self) -> bool {
        // That takes memory, which a handler may not.
        if may_be_handler() {
            return false;
        }
        let _errno = Errno::kept();
        // A handler that ends the process would wait for the lock that is held here.
        let _blocked = Blocked::all();
        let Some(mut way) = hosts::way(state::teams().of(Call::Write), LINES, SLOT_BYTES) else {
            return false;
        };
        // The host may be idle, and slow to begin.
        way.caller.set_patience(WAKING);
        // SAFETY: the function takes anything.
        unsafe { way.caller.post(Request::function(nothing, [0; 5])) };
        way.caller.drain();
        // Other threads execute in `take_back` alone, where no handler interrupts them: so a handler may wait for the host
        // wherever it has interrupted its thread.
        way.caller.set_patience(Duration::MAX);
        self.queue = Some(Queue { way, ages: Ages::new(state::flush()) });
        self.epoch.get_or_insert_with(Instant::now);
        true
    }

    /// Ends the queue once it is empty, and hosts that nobody uses.
    fn close(&mut self) {
        if self.queue.is_none() || may_be_handler() {
            return;
        }
        let _errno = Errno::kept();
        let _not_cancelled = NotCancelled::now();
        // As in `open`.
        let _blocked = Blocked::all();
        self.wait_until(|queue| queue.way.caller.room() == LINES);
        is_empty();
        self.queue = None;
        hosts::end_idle();
    }

    /// Somebody waits for the queue. Where hosts are to execute all, whatever that costs, nobody asks.
    pub fn is_waited_for(&mut self) {
        if state::patience().is_none_or(|patience| patience < EXECUTES_ALL) {
            self.pace.waited(ACCEPTED.load(Relaxed));
        }
    }

    /// Waits until something holds of the queue, or does itself what the host has not begun. If that costs more than a small part
    /// of the time, writes are then done at once for a while.
    #[cold]
    pub fn wait_until(&mut self, holds: impl Fn(&mut Queue) -> bool) {
        let Some(queue) = &mut self.queue else { return };
        let patience = state::patience().unwrap_or(PATIENCE);
        let (mut begun, mut done) = (Instant::now(), DONE.0.load(Relaxed));
        while !holds(queue) {
            let now_done = DONE.0.load(Relaxed);
            if now_done != done {
                (begun, done) = (Instant::now(), now_done);
            } else if begun.elapsed() >= patience {
                queue.take_back();
                self.rest.begin(nanoseconds(begun.elapsed()), since(self.epoch));
                self.pace.disturbed(ACCEPTED.load(Relaxed));
                return;
            }
            (0..LOOKS).for_each(|_| std::hint::spin_loop());
        }
    }

    /// Whether there is a queue, to which this was added.
    ///
    /// # Safety
    /// The buffer, no longer than a slot, can be read.
    #[inline(always)]
    pub unsafe fn add(&mut self, descriptor: c_int, buffer: *const u8, bytes: usize) -> bool {
        let now = ticks();
        let Some(queue) = &mut self.queue else { return false };
        if !queue.way.caller.has_room() || queue.ages.overdue(now).is_some() {
            self.is_waited_for();
            self.wait_until(|queue| queue.are_none_overdue(now) && queue.way.caller.has_room());
        }
        let Some(queue) = &mut self.queue else { return false };
        // SAFETY: handed on.
        unsafe { queue.add(now, descriptor, buffer, bytes) };
        true
    }
}

fn since(epoch: Option<Instant>) -> u64 {
    epoch.map_or(0, |epoch| nanoseconds(epoch.elapsed()))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
