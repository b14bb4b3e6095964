//! Counting what calls do, by performance counters: one event at a time, so that none disturbs another.
//!
//! For warm calls, a counter runs over a batch of calls and is read at its two ends: if a hypervisor traps every read
//! (which leaves the caches cold), no read comes between the calls. For cold calls, it is read before and after a
//! single call. In both cases, what the reads themselves count is measured without a call and subtracted.
//!
//! The logic is tested with scripted counts, and with events that the kernel counts in software.

mod figures;
mod hardware;

use std::collections::BTreeMap;
use std::io;

use coho_counters::{Column, Mode};

use super::subject::{Body, Singles, nothing};

pub(super) use figures::{Counted, Key};
pub(super) use hardware::Hardware;

/// Batches without a call, which show what the reads themselves count.
const EMPTY: usize = 7;

/// Where counts come from.
pub(super) trait Source: Send + Sync {
    /// Counts a column's events for the calling thread from now on, in one mode of the CPU.
    ///
    /// # Errors
    /// If it cannot, with the reason.
    fn open(&self, column: Column, mode: Mode) -> Result<Box<dyn Count>, String>;

    /// Whether it has a correct event for the column.
    fn has(&self, column: Column) -> bool;

    /// The modes that may be counted.
    fn modes(&self) -> &[Mode];

    /// Why events of the kernel cannot be counted; `None` if they can.
    fn no_kernel(&self) -> Option<&str>;

    /// Events by column, as the manuals name them.
    fn names(&self) -> BTreeMap<&'static str, String>;

    /// Whether a read disturbs the caches because a hypervisor traps it.
    fn disturbs(&self) -> bool;
}

/// Events that are being counted.
pub(super) trait Count {
    /// The count so far.
    ///
    /// # Errors
    /// If the events did not count all the time: a figure that the kernel has scaled up is refused.
    fn read(&mut self) -> Result<u64, String>;
}

/// The events that a piece of work causes.
pub(super) fn difference(count: &mut dyn Count, work: impl FnOnce()) -> Result<f64, String> {
    let before = count.read()?;
    work();
    let after = count.read()?;
    after
        .checked_sub(before)
        .map(|events| events as f64)
        .ok_or_else(|| format!("the counter ran backwards, from {before} to {after}"))
}

/// The outer error is a call's failure, the inner one a counter's.
pub(super) type Tried<T> = io::Result<Result<T, String>>;

/// Events of a warm call, one figure per batch. The counts of two reads and the loop are subtracted, so that a call
/// whose events do not vary gives a whole number.
pub(super) fn warm(
    count: &mut dyn Count,
    body: &mut dyn Body,
    calls: usize,
    batches: usize,
) -> Tried<Vec<f64>> {
    let mut batch = |body: &mut dyn Body| body.within(calls, |call| difference(count, call));
    let mut none = nothing();
    let mut empty = Vec::with_capacity(EMPTY);
    for _ in 0..EMPTY {
        match batch(&mut *none)? {
            Ok(events) => empty.push(events),
            Err(why) => return Ok(Err(why)),
        }
    }
    empty.sort_by(f64::total_cmp);
    let mut figures = Vec::with_capacity(batches);
    for _ in 0..batches {
        match batch(body)? {
            Ok(events) => figures.push((events - empty[EMPTY / 2]) / calls as f64),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(figures))
}

/// Which of the calls after the caches were cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nth {
    First,
    Second,
}

/// Events of single calls after `clear`, including what the reads count.
pub(super) fn single(
    nth: Nth,
    count: &mut dyn Count,
    body: &mut dyn Body,
    clear: &dyn Fn(),
    (calls, most): (usize, usize),
) -> Tried<Vec<f64>> {
    let first = |calls: &mut Singles<'_>| calls.after(clear).call();
    let mut one = || match nth {
        Nth::Second if most < 2 => {
            body.one_by_one(1, first)?;
            body.one_by_one(1, |calls| difference(count, &mut || calls.call()))
        }
        Nth::First => body.one_by_one(1, |calls| {
            calls.after(clear);
            difference(count, &mut || calls.call())
        }),
        Nth::Second => body.one_by_one(2, |calls| {
            first(calls);
            difference(count, &mut || calls.call())
        }),
    };
    (0..calls).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::super::subject::plain;
    use super::*;

    /// A counter that reads itself: each read adds some events, and now and then a read meets an interrupt.
    struct Scripted {
        events: Arc<AtomicU64>,
        reads: u64,
        lost_after: u64,
    }

    const READ: u64 = 37;

    impl Count for Scripted {
        fn read(&mut self) -> Result<u64, String> {
            self.reads += 1;
            if self.reads > self.lost_after {
                return Err("counted a part of the time only".into());
            }
            let interrupt = if self.reads.is_multiple_of(11) { 5003 } else { 0 };
            Ok(self.events.fetch_add(READ + interrupt, Relaxed))
        }
    }

    /// A call with this many events.
    fn scripted(events: u64, lost_after: u64) -> (Scripted, Box<dyn Body>) {
        let total = Arc::new(AtomicU64::new(1 << 40));
        let body = plain({
            let total = Arc::clone(&total);
            move || {
                total.fetch_add(events, Relaxed);
                0
            }
        });
        (Scripted { events: total, reads: 0, lost_after }, body)
    }

    fn median(mut samples: Vec<f64>) -> f64 {
        samples.sort_by(f64::total_cmp);
        crate::statistics::median(&samples)
    }

    #[test]
    fn warm_counts_of_a_steady_call_are_whole_numbers() {
        for (events, calls) in [(273, 200), (1, 4096), (0, 8), (1619, 1)] {
            let (mut count, mut body) = scripted(events, u64::MAX);
            let figures = warm(&mut count, &mut *body, calls, 25).unwrap().unwrap();
            assert_eq!(median(figures), events as f64);
        }
    }

    #[test]
    fn cold_counts_less_those_of_no_call_are_the_call_s() {
        let (mut count, mut body) = scripted(4600, u64::MAX);
        let cleared = AtomicU64::new(0);
        let clear = || {
            cleared.fetch_add(1, Relaxed);
        };
        for (nth, most) in [(Nth::First, 2), (Nth::Second, 2), (Nth::Second, 1)] {
            let with = single(nth, &mut count, &mut *body, &clear, (15, most)).unwrap().unwrap();
            let without = single(nth, &mut count, &mut *nothing(), &clear, (15, most)).unwrap().unwrap();
            assert_eq!(median(with) - median(without), 4600.0, "of that call alone");
        }
        assert_eq!(cleared.into_inner(), 90);
    }

    #[test]
    fn counts_that_were_lost_give_no_figure() {
        let (mut count, mut body) = scripted(5, 20);
        assert!(warm(&mut count, &mut *body, 10, 25).unwrap().unwrap_err().contains("part of the time"));
        let (mut count, mut body) = scripted(5, 3);
        assert!(single(Nth::First, &mut count, &mut *body, &|| (), (5, 2)).unwrap().is_err());
        let (mut count, _) = scripted(5, u64::MAX);
        let back = difference(&mut count, || ()).unwrap();
        assert_eq!(back, READ as f64);
    }

    #[test]
    fn a_counter_that_goes_back_is_refused() {
        let (mut count, _) = scripted(0, u64::MAX);
        let events = Arc::clone(&count.events);
        let error = difference(&mut count, || events.store(3, Relaxed)).unwrap_err();
        assert!(error.contains("ran backwards"), "{error}");
    }
}
