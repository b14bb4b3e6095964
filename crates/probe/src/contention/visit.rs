//! A visit: some CPUs do one operation, in short batches that they begin together.

use std::time::Duration;

use coho_platform::stolen::involuntary_switches;
use coho_profile::LineOperation;
use coho_sync::{Algorithm, Barrier};

use super::line::{LINES, OfPass, clear};
use super::operation::{Account, is_settled, operate};
use super::window::{Batch, Log, batches};
use crate::clock::{Clock, Ticks};
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// The time of a batch, in ns, unless operations are so slow that it would hold too few.
const BATCH_NS: f64 = 30_000.0;
/// Time between two readings of the clock, in ns: long compared with one reading.
const CHUNK_NS: f64 = 2_000.0;
/// Fewest chunks of a batch.
const CHUNKS: f64 = 16.0;
/// The longest wait for the others at the start of a batch: a thread that lost its CPU does not arrive.
const PATIENCE: Duration = Duration::from_secs(2);

/// How batches are cut.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cut {
    /// Operations between two readings of the clock.
    chunk: u64,
    /// When to end a batch, after its beginning.
    ns: f64,
}

impl Cut {
    /// To find out how long an operation takes.
    const PILOT: Self = Self { chunk: 16, ns: BATCH_NS };

    /// For operations that take about this long.
    fn fitting(operation_ns: f64) -> Self {
        let chunk = (CHUNK_NS / operation_ns).clamp(1.0, 65_536.0).floor();
        Self { chunk: chunk as u64, ns: (CHUNKS * chunk * operation_ns).clamp(BATCH_NS, 100.0 * BATCH_NS) }
    }
}

/// The results of a visit.
#[derive(Debug)]
pub(super) struct Visited {
    /// In order; `None` in place of one in which a CPU was away.
    pub(super) batches: Vec<Option<Batch>>,
    /// Involuntary switches of all threads.
    pub(super) involuntary_switches: u64,
}

/// Runs this many batches on these CPUs, with the lines in turn.
///
/// # Errors
/// If a CPU does not arrive, a worker is not on its CPU, or an operation was lost.
pub(super) fn visit(
    workers: &Workers,
    cpus: &[u32],
    operation: LineOperation,
    lines: &OfPass<'_>,
    count: usize,
) -> Result<Visited, Error> {
    let clock = Clock::get();
    let (pilot, _) = run(workers, cpus, operation, lines, (Cut::PILOT, 1))?;
    let of_each = pilot.iter().flatten().filter_map(|log| {
        let ticks = log.marks.last()? - log.marks.first()?;
        Some(clock.ns(ticks) / ((log.marks.len() - 1) as u64 * Cut::PILOT.chunk) as f64)
    });
    let operation_ns = statistics::median_of(of_each.collect()).unwrap_or(1.0).max(0.01);
    let cut = Cut::fitting(operation_ns);
    let (logs, involuntary_switches) = run(workers, cpus, operation, lines, (cut, count))?;
    Ok(Visited { batches: batches(&logs, cut.chunk, |ticks| clock.ns(ticks)), involuntary_switches })
}

/// A CPU's logs by batch, and its accounts by line; none if another CPU did not arrive at a start.
type Worked = (Vec<Log>, [Account; LINES]);

/// The logs of each CPU, and the involuntary switches of all.
fn run(
    workers: &Workers,
    cpus: &[u32],
    operation: LineOperation,
    lines: &OfPass<'_>,
    (cut, count): (Cut, usize),
) -> Result<(Vec<Vec<Log>>, u64), Error> {
    let barrier = Barrier::new(Algorithm::Central, cpus.len())?;
    lines.each().for_each(clear);
    let work = |rank: usize| -> Option<Worked> {
        let mut accounts = [Account::of(rank); LINES];
        let mut logs = Vec::with_capacity(count);
        for number in 0..count {
            let mut marks = Vec::with_capacity(512);
            let account = &mut accounts[number % LINES];
            let failures = account.failures;
            let switches = involuntary_switches();
            barrier.wait_timeout(rank, PATIENCE).ok()?;
            chunks(&mut marks, cut, |n| operate(operation, lines.get(number % LINES), rank, n, account));
            let switched = involuntary_switches() != switches;
            marks.shrink_to_fit();
            logs.push(Log { marks, failures: account.failures - failures, switched });
        }
        Some((logs, accounts))
    };
    let work = &work;
    let job = |(rank, &cpu)| (cpu, Box::new(move || work(rank)) as Job<'_, Option<Worked>>);
    let jobs = cpus.iter().enumerate().map(job).collect();
    let (mut logs, mut accounts, mut switches) = (Vec::new(), Vec::new(), 0);
    for (&cpu, done) in cpus.iter().zip(workers.run(jobs)) {
        let done = done?;
        switches += done.involuntary_switches;
        let (log, account) =
            done.value.ok_or_else(|| Error::cpu(cpu, "another CPU did not reach the start"))?;
        logs.push(log);
        accounts.push(account);
    }
    for (index, line) in lines.each().enumerate() {
        let accounts: Vec<Account> = accounts.iter().map(|of_cpu| of_cpu[index]).collect();
        if !is_settled(operation, line, &accounts) {
            return Err(Error::broken(format!("{operation} by {} CPUs: an operation was lost", cpus.len())));
        }
    }
    Ok((logs, switches))
}

/// Works in chunks until the batch's time is over, and records when each is done.
fn chunks(marks: &mut Vec<Ticks>, cut: Cut, mut operate: impl FnMut(u64)) {
    let clock = Clock::get();
    let ticks = clock.ticks(Duration::from_nanos(cut.ns as u64));
    let start = clock.now();
    marks.push(start);
    loop {
        operate(cut.chunk);
        let now = clock.now();
        marks.push(now);
        if now.saturating_sub(start) >= ticks {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Lines;
    use super::*;
    use coho_platform::pin;

    #[test]
    fn batches_are_long_against_the_clock_and_hold_enough() {
        // A store, an addition alone, one of 192 CPUs.
        for (ns, chunk, length) in [(0.3, 6666, 31_996.8), (5.0, 400, 32_000.0), (9_000.0, 1, 144_000.0)] {
            let cut = Cut::fitting(ns);
            assert_eq!((cut.chunk, cut.ns.round()), (chunk, f64::round(length)));
        }
        assert_eq!(Cut::fitting(1e9).ns, 100.0 * BATCH_NS, "however slow");
    }

    #[test]
    fn every_batch_of_every_operation_is_accounted_for() {
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(4).collect();
        let workers = Workers::start(&cpus).unwrap();
        let lines = Lines::map(&workers, cpus[0]).unwrap();
        let lines = lines.of_pass(1);
        for operation in LineOperation::ALL {
            // Every run checks that no operation was lost.
            let visited = visit(&workers, &cpus, operation, &lines, 12).unwrap();
            assert_eq!(visited.batches.len(), 12);
            for batch in visited.batches.iter().flatten() {
                assert!(batch.ns > 0.0 && batch.operations.len() == cpus.len(), "{batch:?}");
                assert!(batch.failures_per_success >= 0.0, "{batch:?}");
            }
        }
    }
}
