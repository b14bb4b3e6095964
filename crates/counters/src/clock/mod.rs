//! The clock for timing batches, its measured step, and the frequency that the CPU runs at.
//!
//! On x86-64 with an invariant time-stamp counter, the clock is RDTSC, on AArch64 the virtual counter, otherwise the
//! operating system's raw monotonic clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
mod chain;
mod effective;
mod offset;
mod step;

pub(crate) use chain::additions;
pub use effective::{Disagreement, effective_ghz, glimpse_ghz};
pub use offset::{Error as OffsetError, Offset};

/// Where the clock's readings come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The CPU's own counter, by this instruction or register.
    Counter(&'static str),
    /// CLOCK_MONOTONIC_RAW, for this reason.
    System(&'static str),
}

/// A reading, or a difference of readings, in the clock's own units.
pub type Ticks = u64;

/// A monotonic clock and its properties.
///
/// ```
/// let clock = coho_counters::clock::Clock::get();
/// let start = clock.now();
/// assert!(clock.ns(clock.now() - start) >= 0.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: Source,
    ns_per_tick: f64,
    step_ns: f64,
}

impl Clock {
    /// The machine's clock; calibrated on first use, which takes about 10 ms.
    pub fn get() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(Self::calibrate)
    }

    /// The time now. Earlier loads and read-modify-writes have completed before it is taken, later ones begin after.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.source {
            Source::Counter(_) => arch::counter(),
            Source::System(_) => system_ns(),
        }
    }

    /// A difference of two readings in ns.
    #[inline]
    pub fn ns(&self, ticks: Ticks) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// A duration in ticks.
    pub fn ticks(&self, duration: Duration) -> Ticks {
        (duration.as_nanos() as f64 / self.ns_per_tick) as Ticks
    }

    /// Where the readings come from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The step in which the readings advance, in ns: the largest step such that all differences of some thousand
    /// readings are multiples of it, apart from rounding.
    pub fn step_ns(&self) -> f64 {
        self.step_ns
    }

    /// The counter's frequency in GHz; `None` if the operating system's clock is used.
    pub fn counter_ghz(&self) -> Option<f64> {
        matches!(self.source, Source::Counter(_)).then_some(1.0 / self.ns_per_tick)
    }

    /// Whether the counter runs at a constant rate whatever the CPU does: on x86 as CPUID says (leaf 0x80000007, EDX
    /// bit 8), on AArch64 by architecture.
    pub fn invariant() -> bool {
        arch::invariant()
    }

    fn calibrate() -> Self {
        let source = arch::source();
        let mut clock = Self { source, ns_per_tick: 1.0, step_ns: 0.0 };
        if matches!(source, Source::Counter(_)) {
            let (ticks_before, ns_before) = clock.both();
            let wait = Instant::now();
            while wait.elapsed() < Duration::from_millis(10) {
                std::hint::spin_loop();
            }
            let (ticks_after, ns_after) = clock.both();
            clock.ns_per_tick = (ns_after - ns_before) as f64 / (ticks_after - ticks_before).max(1) as f64;
        }
        clock.step_ns = step::measure(|| clock.now()) * clock.ns_per_tick;
        clock
    }

    /// Readings of this clock and of the system's, taken together: the closest of several tries.
    fn both(&self) -> (Ticks, u64) {
        (0..32)
            .map(|_| {
                let before = self.now();
                let ns = system_ns();
                let after = self.now();
                (after - before, before + (after - before) / 2, ns)
            })
            .min()
            .map(|(_, ticks, ns)| (ticks, ns))
            .expect("32 tries")
    }
}

fn system_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; CLOCK_MONOTONIC_RAW exists on every kernel that Rust supports.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_system_clock() {
        let clock = Clock::get();
        let (ticks_before, ns_before) = clock.both();
        std::thread::sleep(Duration::from_millis(30));
        let (ticks_after, ns_after) = clock.both();
        let ratio = clock.ns(ticks_after - ticks_before) / (ns_after - ns_before) as f64;
        assert!((0.99..1.01).contains(&ratio), "clock runs at {ratio} of the system's");
    }

    #[test]
    fn never_goes_back_and_has_a_step() {
        let clock = Clock::get();
        let readings: Vec<_> = (0..10_000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
        assert!(clock.step_ns() > 0.0);
    }
}
