//! What one more remote line costs a reader of several: the slope of the time of reading lines that another CPU has
//! just written. In an FBS barrier all threads but the writer of a flag are such readers.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::yield_now;

use crate::clock::Clock;
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// Lines of the longer reading: as many as fit a page, in order, like the flags of a barrier.
const LINES: usize = 32;
/// Readings of one line and of all lines, alternately.
const ROUNDS: u64 = 400;

/// Looks at a line before a reader yields, far more than a line takes to arrive.
const LOOKS: u32 = 10_000;

/// A word on a line of its own; 128 bytes, as barriers pad their flags.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Line {
    fn wait_for(&self, round: u64) {
        let mut looks = 0u32;
        while self.0.load(Acquire) < round {
            looks = looks.saturating_add(1);
            // The other thread may be waiting for this CPU.
            if looks > LOOKS { yield_now() } else { spin_loop() }
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
        slope(one, all)
    });
    let mut done = workers.run(vec![(writer, write), (reader, read)]);
    done.remove(1).map(|done| done.value)
}

/// The cost of one more line, from the median times of one line and of all lines; a slope below 0 is noise around 0.
fn slope(one: Vec<f64>, all: Vec<f64>) -> f64 {
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        statistics::median(&times)
    };
    ((median(all) - median(one)) / (LINES - 1) as f64).max(0.0)
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;
    use coho_platform::pin;

    #[test]
    fn a_line_costs_its_share_of_what_all_take_longer() {
        let jitter = |ns: f64| [ns - 1.0, ns, 9e6, ns + 1.0, ns].to_vec();
        assert_eq!(slope(jitter(100.0), jitter(100.0 + 31.0 * 7.0)), 7.0);
        assert_eq!(slope(jitter(100.0), jitter(90.0)), 0.0);
    }

    #[test]
    fn a_line_more_takes_a_part_of_a_time_slice() {
        needs!(Capability::TwoCpus);
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let workers = Workers::start(&cpus).unwrap();
        let ns = extra_line(&workers, cpus[0], cpus[1]).unwrap();
        // For the median of 200 readings of a microsecond or two to hold a preemption, half of them would.
        assert!(ns < 1e5, "{ns}");
    }
}
