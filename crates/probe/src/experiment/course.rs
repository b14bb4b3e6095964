//! Where and for how long an experiment runs.

use std::time::Duration;

/// Where and for how long an experiment runs, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Course {
    /// The CPUs, by operating-system number; all that the process may use if empty.
    pub cpus: Vec<u32>,
    /// Stop after this time and keep what is done.
    pub time_limit: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
}

impl Course {
    /// On these CPUs.
    pub fn on(cpus: impl Into<Vec<u32>>) -> Self {
        Self { cpus: cpus.into(), ..Self::default() }
    }

    /// With at most this time.
    #[must_use]
    pub fn within(self, time_limit: impl Into<Option<Duration>>) -> Self {
        Self { time_limit: time_limit.into(), ..self }
    }
}
