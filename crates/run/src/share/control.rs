//! A loop that shares nothing, on all CPUs and on one: what its CPU time differs by is no matter of lines.

use std::hint::black_box;
use std::io;
use std::time::Duration;

use coho_platform::{pin, threads};
use coho_topology::CpuSet;

/// CPU time of all threads together on one CPU.
const ALL: Duration = Duration::from_millis(200);
/// CPU time of one thread, which is less than the scheduler's slices add up to only where there are very many CPUs.
const MOST: Duration = Duration::from_millis(25);
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
        let on_all = self.time(cpus, &|rank| CpuSet::from_iter([cpus[rank]]))?;
        let on_one = self.time(cpus, &|_| first.clone())?;
        Ok(1.0 - on_one / on_all)
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

/// Works in registers alone.
fn turn(steps: u64) {
    let mut value = 1u64;
    for step in 0..steps {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
}

/// The calling thread's.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}
