//! How long accepted writes have been on their way.

use std::time::{Duration, Instant};

use coho_delegate::Ticket;

use super::LINES;
use crate::guards::FloatingPoint;

/// When the writes were accepted that may not be done, at most as many as there are lines.
pub struct Ages {
    /// Ticks of the clock, in the place of the write's number modulo the lines.
    accepted: [(u64, Option<Ticket>); LINES],
    /// The number of the next write, and of the oldest that is not known to be done.
    next: u64,
    oldest: u64,
    most: Duration,
    /// The same in ticks, as if the clock were slow, until it has been compared with the system's.
    most_ticks: u64,
    begun: Option<(Instant, u64)>,
}

impl Ages {
    pub fn new(most: Duration) -> Self {
        /// Nanoseconds in a tick, at most, on today's machines. A wrong guess costs a look.
        const GUESS: u64 = 2;
        let most_ticks = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX) / GUESS;
        Self {
            accepted: [(0, None); LINES],
            next: 0,
            oldest: 0,
            most,
            most_ticks,
            begun: Some((Instant::now(), ticks())),
        }
    }

    /// The oldest write that is not known to be done and was accepted too long ago, by this time.
    #[inline(always)]
    pub fn overdue(&mut self, now: u64) -> Option<Ticket> {
        self.oldest = self.oldest.max((self.next + 1).saturating_sub(LINES as u64));
        let (then, ticket) = self.accepted[self.oldest as usize % LINES];
        if self.oldest == self.next || now.saturating_sub(then) <= self.most_ticks {
            return None;
        }
        self.is_overdue(now, then).then_some(ticket).flatten()
    }

    #[cold]
    fn is_overdue(&mut self, now: u64, then: u64) -> bool {
        let _floating_point = FloatingPoint::own();
        self.is_overdue_by_rate(now, then)
    }

    #[inline(never)]
    fn is_overdue_by_rate(&mut self, now: u64, then: u64) -> bool {
        if let Some((begun, at)) = self.begun
            && begun.elapsed() >= Duration::from_millis(1)
        {
            let rate = now.wrapping_sub(at) as f64 / begun.elapsed().as_secs_f64();
            self.most_ticks = (self.most.as_secs_f64() * rate) as u64;
            self.begun = None;
        }
        now.saturating_sub(then) > self.most_ticks
    }

    /// The oldest is done.
    pub fn is_done(&mut self) {
        self.oldest += 1;
    }

    /// One more is accepted.
    #[inline(always)]
    pub fn add(&mut self, now: u64, ticket: Ticket) {
        self.accepted[self.next as usize % LINES] = (now, Some(ticket));
        self.next += 1;
    }

    /// All are done.
    pub fn clear(&mut self) {
        self.oldest = self.next;
    }
}

/// A clock that costs little to read.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes there alone.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

#[cfg(test)]
mod tests {
    use coho_delegate::{Host, Request};

    use super::*;

    #[test]
    fn the_oldest_is_overdue_first_and_none_that_is_done() {
        unsafe fn nothing(_: [usize; 5]) -> isize {
            0
        }
        let host = Host::builder().start().unwrap();
        let mut caller = host.caller_with(LINES, 0);
        // SAFETY: the function takes anything.
        let mut post = || unsafe { caller.post(Request::function(nothing, [0; 5])) };
        let mut ages = Ages::new(Duration::from_secs(1000));
        // Exactly known.
        (ages.most_ticks, ages.begun) = (100, None);
        let (one, another) = (post(), post());
        ages.add(1000, one);
        ages.add(1050, another);
        assert_eq!((ages.overdue(1100), ages.overdue(1101)), (None, Some(one)));
        ages.is_done();
        assert_eq!((ages.overdue(1101), ages.overdue(1151)), (None, Some(another)));
        ages.clear();
        assert_eq!(ages.overdue(u64::MAX / 2), None);
        // Where lines were used again, what was in them is done.
        (0..LINES as u64).for_each(|time| ages.add(2000 + time, one));
        assert_eq!(ages.overdue(2101), None, "a line is free for the next");
        assert_eq!(ages.overdue(2102), Some(one));
    }

    #[test]
    fn a_guess_is_corrected() {
        let mut ages = Ages::new(Duration::from_secs(1000));
        std::thread::sleep(Duration::from_millis(2));
        let guessed = ages.most_ticks;
        let now = ticks();
        assert!(!ages.is_overdue(now, now));
        assert!(ages.begun.is_none() && ages.most_ticks > guessed);
    }
}
