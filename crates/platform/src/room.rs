//! The CPUs and the CPU time that the process was given.

use std::fmt;

use crate::{CpuSet, cgroup, pin};

/// Why a process has no CPU to run on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system does not say which CPUs the process may use.
    Pin(pin::Error),
    /// None of those that it may use is online.
    Offline {
        /// Those that it may use.
        allowed: CpuSet,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin(error) => error.fmt(f),
            Self::Offline { allowed } => {
                write!(f, "none of the CPUs that the process may use is online: {allowed}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// The CPUs that a process may use, and how much of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    /// The online CPUs of the inherited affinity mask, which the cpuset bounds.
    pub cpus: CpuSet,
    /// CPU time that the control groups allow, in CPUs; `None` without a quota.
    pub quota: Option<f64>,
}

impl Room {
    /// The room of the calling thread, among the CPUs that are online.
    ///
    /// # Errors
    /// If the operating system does not say, or leaves no CPU that is online.
    pub fn here(online: &CpuSet) -> Result<Self, Error> {
        let allowed = pin::allowed().map_err(Error::Pin)?;
        let cpus = allowed.intersection(online);
        if cpus.is_empty() {
            return Err(Error::Offline { allowed });
        }
        Ok(Self { cpus, quota: cgroup::cpu_quota() })
    }

    /// The room of the calling thread, whose mask as Linux reports it has online CPUs only.
    ///
    /// # Errors
    /// If the operating system does not say.
    pub fn of_thread() -> Result<Self, Error> {
        Ok(Self { cpus: pin::allowed().map_err(Error::Pin)?, quota: cgroup::cpu_quota() })
    }

    /// This room with those CPUs that were named and that the process may ask for, though its mask lacks them.
    #[must_use]
    pub fn reaching(&self, named: &CpuSet) -> Self {
        let beyond = named.difference(&self.cpus);
        if beyond.is_empty() {
            return self.clone();
        }
        let allowed = pin::reachable().unwrap_or_default();
        Self { cpus: self.cpus.union(&beyond.intersection(&allowed)), quota: self.quota }
    }

    /// How many threads can run at once: more threads would only share the same quota.
    pub fn width(&self) -> usize {
        let quota = self.quota.map_or(usize::MAX, |quota| quota.ceil() as usize);
        self.cpus.len().min(quota).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_cpu_is_reached_beyond_the_mask_but_not_beyond_the_machine() {
        let all = pin::reachable().unwrap();
        let narrow = Room { cpus: CpuSet::new(), quota: None };
        let named: CpuSet = all.iter().chain([60_000]).collect();
        assert_eq!(narrow.reaching(&named).cpus, all);
        assert_eq!(narrow.reaching(&CpuSet::new()).cpus, CpuSet::new(), "only what is named");
    }

    #[test]
    fn a_quota_narrows_the_room() {
        let room = |quota| Room { cpus: CpuSet::up_to(8), quota }.width();
        assert_eq!([None, Some(1.5), Some(0.2), Some(64.0)].map(room), [8, 2, 1, 8]);
    }
}
