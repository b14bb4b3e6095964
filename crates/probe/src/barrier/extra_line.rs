//! What one more remote line costs a reader of several: the slope of the time of reading lines that another CPU has just
//! written. All threads of an FBS barrier but the writer of a flag are such readers.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::clock::Clock;
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// Lines of the longer reading: as many as fit a page, in order, as the flags of a barrier lie.
const LINES: usize = 32;
/// Readings of one line and of all, by turns.
const ROUNDS: u64 = 400;

/// A word on a line of its own; 128 bytes, as barriers pad their flags.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Line {
    fn wait_for(&self, round: u64) {
        while self.0.load(Acquire) < round {
            spin_loop();
        }
    }
}

#[derive(Default)]
struct Lines {
    flags: [Line; LINES],
    written: Line,
    read: Line,
}

/// Measures once, `writer` and `reader` being CPUs that run at the same time; in ns.
pub(super) fn extra_line(workers: &Workers, writer: u32, reader: u32) -> Result<f64, Error> {
    let lines = Box::new(Lines::default());
    let write: Job<'_, f64> = Box::new(|| {
        for round in 1..=ROUNDS {
            lines.flags.iter().for_each(|flag| flag.0.store(round, Release));
            lines.written.0.store(round, Release);
            lines.read.wait_for(round);
        }
        0.0
    });
    let read: Job<'_, f64> = Box::new(|| {
        let clock = Clock::get();
        let (mut one, mut all) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            lines.written.wait_for(round);
            let (times, count) = if round % 2 == 1 { (&mut one, 1) } else { (&mut all, LINES) };
            let start = clock.now();
            lines.flags[..count].iter().for_each(|flag| flag.wait_for(round));
            times.push(clock.ns(clock.now() - start));
            lines.read.0.store(round, Release);
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            statistics::median(times)
        };
        (median(&mut all) - median(&mut one)) / (LINES - 1) as f64
    });
    let mut done = workers.run(vec![(writer, write), (reader, read)]);
    // A slope below 0 is noise about 0.
    done.remove(1).map(|done| done.value.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin;

    #[test]
    fn more_lines_cost_more_but_not_a_transfer_each() {
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().collect();
        let [a, b, ..] = cpus[..] else {
            eprintln!("skipped: only one CPU");
            return;
        };
        let workers = Workers::start(&[a, b]).unwrap();
        let mut slopes: Vec<f64> = (0..5).map(|_| extra_line(&workers, a, b).unwrap()).collect();
        slopes.sort_by(f64::total_cmp);
        // Nothing in a cache takes microseconds.
        assert!(slopes[0] >= 0.0 && slopes[2] < 2000.0, "{slopes:?}");
    }
}
