//! Where and for how long an experiment runs.

use std::time::Duration;

use coho_platform::pin;
use coho_topology::CpuSet;

use crate::Error;

/// Where and for how long an experiment runs, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Course {
    /// The CPUs, by operating-system number; all that the process may use if empty. An experiment on one CPU takes the
    /// first.
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

    /// The same on these CPUs.
    #[must_use]
    pub(crate) fn moved(&self, cpus: impl Into<Vec<u32>>) -> Self {
        Self { cpus: cpus.into(), ..self.clone() }
    }

    /// The same with at most this time, or the less that it has.
    #[must_use]
    pub(crate) fn at_most(&self, time: Duration) -> Self {
        let time_limit = self.time_limit.map_or(time, |limit| limit.min(time));
        self.clone().within(time_limit)
    }

    /// The CPUs that were asked for; `None` if none were named.
    pub(crate) fn named(&self) -> Option<CpuSet> {
        (!self.cpus.is_empty()).then(|| self.cpus.iter().copied().collect())
    }

    /// The CPUs: those that were asked for, or all that the process may use.
    ///
    /// # Errors
    /// If the operating system does not say which it may use.
    pub(crate) fn all(&self) -> Result<Vec<u32>, Error> {
        Ok(if self.cpus.is_empty() { pin::allowed()?.iter().collect() } else { self.cpus.clone() })
    }

    /// The first of them.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn first(&self) -> Result<u32, Error> {
        self.all()?.first().copied().ok_or(Error::NoCpu)
    }
}
