//! How threads wait, as the user chooses and the machine allows.

use std::time::Duration;

/// How a thread waits for the others: it looks, with a gap between looks, then sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WaitPolicy {
    /// Spins for up to 15 ms as long as no thread of the process is taken off its CPU. Otherwise it spins up to a millisecond,
    /// and sleeps soon if there is a neighbour, a quota or more threads than CPUs: each thread learns how long to spin from
    /// how its waits ended.
    #[default]
    Adaptive,
    /// Spins for at most this long, otherwise like [`WaitPolicy::Adaptive`].
    SpinFor(Duration),
    /// Spins without end, whatever else wants to run.
    Active,
    /// Sleeps at once.
    Passive,
}

impl WaitPolicy {
    /// The longest spinning in nanoseconds; [`u32::MAX`] without end.
    pub(crate) fn ceiling_ns(&self) -> u32 {
        match self {
            Self::Adaptive => 1_000_000,
            Self::SpinFor(time) => {
                u32::try_from(time.as_nanos()).map_or(u32::MAX - 1, |ns| ns.min(u32::MAX - 1))
            }
            Self::Active => u32::MAX,
            Self::Passive => 0,
        }
    }
}

/// Whose threads wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of this process.
    Process,
    /// Those of several processes, in memory that they share.
    Processes,
}

/// What keeps all threads from running at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crowding {
    /// Nothing is known beforehand.
    None,
    /// More threads than CPUs: waiting threads give their CPU to those they wait for.
    Threads,
    /// A control group's quota: spinning uses it up.
    Quota,
}

impl Crowding {
    pub(crate) const ALL: [Self; 3] = [Self::None, Self::Threads, Self::Quota];

    /// The crowding of `threads` on `cpus` CPUs, of which the control groups allow `quota`.
    pub(crate) fn of(threads: usize, cpus: usize, quota: Option<f64>) -> Self {
        if threads > cpus {
            Self::Threads
        } else if quota.is_some_and(|quota| quota < threads as f64) {
            Self::Quota
        } else {
            Self::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_keeps_threads_from_running() {
        assert_eq!(Crowding::of(2, 2, None), Crowding::None);
        assert_eq!(Crowding::of(2, 2, Some(2.0)), Crowding::None);
        assert_eq!(Crowding::of(2, 2, Some(1.5)), Crowding::Quota);
        assert_eq!(Crowding::of(16, 2, Some(1.5)), Crowding::Threads);
    }
}
