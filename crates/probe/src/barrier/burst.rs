//! Bursts of one operation by a team of threads, with one or several threads on each CPU.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use coho_platform::{pin, threads};

use crate::Error;
use crate::clock::Clock;
use crate::workers::{Job, Workers};

/// Operations of the first burst, which finds out how many fill one.
const FIRST: u64 = 8;
/// The largest factor by which a burst's operations grow from one to the next, as a single time may be luck.
const GROWTH: u64 = 16;

/// Bursts that are counted.
#[derive(Debug, Clone, Copy)]
pub struct Bursts {
    /// How many.
    pub count: usize,
    /// About how long each should take.
    pub length: Duration,
}

impl Bursts {
    /// How many operations to try after a burst of `repeats` that took `ns`; `None` once it is long enough.
    fn more(&self, repeats: u64, ns: f64) -> Option<u64> {
        let wanted = self.length.as_nanos() as f64;
        let fitting = (repeats as f64 * wanted / ns.max(1.0)) as u64;
        (ns < wanted / 2.0).then(|| fitting.clamp(repeats + 1, repeats * GROWTH))
    }

    /// How many operations fill a burst; `burst` does the given number and returns the ns that they took.
    pub fn fill(&self, mut burst: impl FnMut(u64) -> f64) -> u64 {
        let mut repeats = FIRST;
        while let Some(more) = self.more(repeats, burst(repeats)) {
            repeats = more;
        }
        repeats
    }
}

/// Times of one barrier, in ns, by the clock of rank 0. `enter` gives each rank, on its thread, the function that waits
/// for all the others.
pub(super) fn bursts<W: FnMut()>(
    workers: &Workers,
    cpus: &[u32],
    bursts: Bursts,
    enter: &(impl Fn(usize) -> W + Sync),
) -> Result<Vec<f64>, Error> {
    // 0 ends the bursts.
    let repeats = AtomicU64::new(FIRST);
    let work = |rank: usize| {
        let clock = Clock::get();
        let mut wait = enter(rank);
        let mut times = Vec::with_capacity(bursts.count);
        let mut full = false;
        loop {
            wait();
            // Stored before the barrier that all threads have just left.
            let n = repeats.load(Acquire);
            if n == 0 {
                return times;
            }
            let start = clock.now();
            for _ in 0..n {
                wait();
            }
            let ns = clock.ns(clock.now() - start);
            if rank > 0 {
                continue;
            }
            if full {
                times.push(ns / n as f64);
                if times.len() == bursts.count {
                    repeats.store(0, Release);
                }
                continue;
            }
            match bursts.more(n, ns) {
                Some(more) => repeats.store(more, Release),
                None => full = true,
            }
        }
    };
    on_each(workers, cpus, &work).map(|mut of_ranks| of_ranks.swap_remove(0))
}

/// Runs `work` for each rank on its CPU at the same time: on the CPU's worker, or on a pinned thread of its own if
/// several ranks share a CPU.
pub(super) fn on_each<T: Send>(
    workers: &Workers,
    cpus: &[u32],
    work: &(dyn Fn(usize) -> T + Sync),
) -> Result<Vec<T>, Error> {
    let mut distinct = cpus.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() == cpus.len() {
        let jobs =
            cpus.iter().enumerate().map(|(rank, &cpu)| (cpu, Box::new(move || work(rank)) as Job<'_, T>));
        return workers.run(jobs.collect()).into_iter().map(|done| done.map(|done| done.value)).collect();
    }
    let lost = AtomicU64::new(0);
    let values = threads::together(cpus.len(), &|rank| {
        // A rank that cannot be pinned must still take part, or the others wait for ever.
        if pin::to(cpus[rank]).is_err() {
            lost.store(u64::from(cpus[rank]) + 1, Relaxed);
        }
        work(rank)
    });
    let values = values.map_err(|error| Error::system(format!("{} threads", cpus.len()), error))?;
    match lost.into_inner() {
        0 => Ok(values),
        cpu => Err(Error::cpu(cpu as u32 - 1, "a thread could not be pinned to it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_grows_until_it_is_long_enough() {
        let bursts = Bursts { count: 1, length: Duration::from_micros(30) };
        let mut tried = Vec::new();
        let repeats = bursts.fill(|repeats| {
            tried.push(repeats);
            // A first operation that is slow, then 50 ns each.
            500.0 + 50.0 * repeats as f64
        });
        assert_eq!(tried[..2], [8, 128]);
        assert!((300..=600).contains(&repeats), "{repeats}");
        assert_eq!(bursts.fill(|_| 1e9), FIRST, "one that is long is not made longer");
        assert_eq!(bursts.more(8, 0.0), Some(128), "a clock that has not moved");
    }

    #[test]
    fn all_ranks_do_as_many_bursts() {
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let workers = Workers::start(&cpus).unwrap();
        // Threads share a CPU if there are fewer CPUs.
        let cpus: Vec<u32> = cpus.iter().cycle().take(3).copied().collect();
        let barrier = coho_sync::Barrier::new(coho_sync::Algorithm::Central, 3).unwrap();
        let short = Bursts { count: 5, length: Duration::from_micros(30) };
        let times = bursts(&workers, &cpus, short, &|rank| {
            let barrier = &barrier;
            move || barrier.wait(rank)
        })
        .unwrap();
        assert!(times.len() == 5 && times.iter().all(|&ns| ns > 0.0), "{times:?}");
    }
}
