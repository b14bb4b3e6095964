//! A loop that shares nothing, on all CPUs and on one: what its CPU time differs by is no matter of lines.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use coho_platform::{pin, threads};
use coho_topology::CpuSet;

/// CPU time of all threads together on one CPU.
const ALL: Duration = Duration::from_millis(120);
/// CPU time of one thread, which is less than the scheduler's slices add up to only where there are very many CPUs.
const MOST: Duration = Duration::from_millis(15);
/// Turns of the loop on all CPUs and on one: what disturbs one of them does not count.
const TURNS: usize = 3;
/// Steps of the loop between two looks at the clock.
const STEPS: u64 = 1 << 16;

/// The loop with its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Control {
    steps: u64,
}

impl Control {
    /// Finds the length of the loop for so many threads.
    pub(super) fn new(threads: usize) -> Self {
        let time = MOST.min(ALL / u32::try_from(threads.max(1)).unwrap_or(u32::MAX));
        let begun = cpu_time();
        let mut steps = 0;
        while cpu_time().saturating_sub(begun) < time {
            turn(STEPS);
            steps += STEPS;
        }
        Self { steps }
    }

    /// The share of the CPU time on these CPUs, a thread on each, that the same threads do not need on the first.
    ///
    /// # Errors
    /// If the system refuses threads or CPUs.
    pub(super) fn share(self, cpus: &[u32]) -> io::Result<f64> {
        let first = CpuSet::from_iter(cpus.iter().copied().take(1));
        let mut shares = Vec::new();
        for _ in 0..TURNS {
            let on_all = self.time(cpus, &|rank| CpuSet::from_iter([cpus[rank]]))?;
            let on_one = self.time(cpus, &|_| first.clone())?;
            shares.push(1.0 - on_one / on_all);
        }
        shares.sort_by(f64::total_cmp);
        Ok(shares[TURNS / 2])
    }

    /// CPU time of all threads, in seconds.
    fn time(self, cpus: &[u32], place: &(dyn Fn(usize) -> CpuSet + Sync)) -> io::Result<f64> {
        let times = threads::together(cpus.len(), &|rank| {
            pin::confine(&place(rank))?;
            let begun = cpu_time();
            turn(self.steps);
            Ok::<_, io::Error>(cpu_time().saturating_sub(begun).as_secs_f64())
        })?;
        times.into_iter().sum()
    }
}

/// A thread's own lines.
#[derive(Default)]
#[repr(align(128))]
struct Lines([AtomicU64; 16]);

/// Independent operations, with loads and stores of the thread's own lines, as most programs have them. A chain of
/// dependent operations leaves most of a core idle, so that a hyper-thread beside it takes nothing from it.
fn turn(steps: u64) {
    let lines = Lines::default();
    let [store, load] = [|at: u64| (at % 16) as usize, |at: u64| (at % 16 + 16 - 5) as usize % 16];
    let [mut a, mut b, mut c, mut d] = [1u64, 2, 3, 4];
    for step in 0..steps {
        a = a.wrapping_mul(3).wrapping_add(step);
        b = (b ^ step).wrapping_add(7);
        c = c.wrapping_add(b >> 3);
        d ^= a;
        lines.0[store(step)].store(d, Relaxed);
        // What was stored some steps before.
        c = c.wrapping_add(lines.0[load(step)].load(Relaxed));
    }
    black_box([a, b, c, d]);
}

/// The calling thread's.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many operations as a step of the loop has, each of which needs the one before.
    fn chain(steps: u64) {
        let mut value = 1u64;
        for step in 0..steps {
            for _ in 0..8 {
                value = black_box(value.wrapping_add(step));
            }
        }
    }

    #[test]
    fn operations_of_the_loop_do_not_wait_for_each_other() {
        const STEPS: u64 = 1 << 16;
        let least = |work: fn(u64)| {
            let times = (0..20).map(|_| {
                let begun = cpu_time();
                work(STEPS);
                cpu_time().saturating_sub(begun)
            });
            times.min().unwrap()
        };
        let (own, dependent) = (least(turn), least(chain));
        assert!(own < dependent, "{own:?} where {dependent:?} would be one after another");
    }
}
