//! Bursts of one operation by a team of threads, one a CPU or several.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::clock::Clock;
use crate::workers::{Job, Workers};
use crate::{Error, pin};

/// About how long a burst is to take, in ns: long against the clock's step, short against a time slice.
const BURST_NS: f64 = 30_000.0;
/// The most operations of a burst.
const MOST: u64 = 2000;
/// Operations of the burst that finds out how many fill one.
const FIRST: u64 = 8;

/// Times of one barrier, in ns, of `bursts` bursts, by the clock of rank 0. `enter` gives each rank, on its thread, what
/// waits for all the others.
pub(super) fn bursts<W: FnMut()>(
    workers: &Workers,
    cpus: &[u32],
    bursts: usize,
    enter: &(impl Fn(usize) -> W + Sync),
) -> Result<Vec<f64>, Error> {
    let repeats = AtomicU64::new(FIRST);
    let work = |rank: usize| {
        let clock = Clock::get();
        let mut wait = enter(rank);
        let mut times = Vec::with_capacity(bursts);
        for burst in 0..=bursts {
            wait();
            // Stored before the barrier that everybody has just left.
            let n = repeats.load(Acquire);
            let start = clock.now();
            for _ in 0..n {
                wait();
            }
            let ns = clock.ns(clock.now() - start) / n as f64;
            if rank > 0 {
                continue;
            }
            if burst == 0 {
                repeats.store(((BURST_NS / ns) as u64).clamp(FIRST, MOST), Release);
            } else {
                times.push(ns);
            }
        }
        times
    };
    on_each(workers, cpus, &work).map(|mut of_ranks| of_ranks.swap_remove(0))
}

/// Runs `work` of each rank on its CPU at the same time: on the CPU's worker, or where several ranks share a CPU on a
/// pinned thread of their own.
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
    let values = std::thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .enumerate()
            .map(|(rank, &cpu)| {
                let lost = &lost;
                scope.spawn(move || {
                    // A rank that cannot be pinned must still take part, or the others wait for ever.
                    if pin::to(cpu).is_err() {
                        lost.store(u64::from(cpu) + 1, Relaxed);
                    }
                    work(rank)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    match lost.into_inner() {
        0 => values.into_iter().map(|value| value.map_err(|_| Error::other("a thread panicked"))).collect(),
        cpu => Err(Error::cpu(cpu as u32 - 1, "a thread could not be pinned to it")),
    }
}
