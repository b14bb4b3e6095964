//! What the process was given to run on.

use coho_platform::cgroup;
use coho_topology::{CpuSet, Topology};

use crate::{Error, pin};

/// The CPUs that a process may use, and how much of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    /// The inherited affinity mask, which the cpuset bounds, where CPUs are online.
    pub cpus: CpuSet,
    /// CPU time that the control groups allow, in CPUs; `None` without a quota.
    pub quota: Option<f64>,
}

impl Room {
    /// The calling thread's.
    ///
    /// # Errors
    /// If the operating system does not tell, or leaves no CPU that is online.
    pub fn here(topology: &Topology) -> Result<Self, Error> {
        let allowed = pin::allowed()?;
        let cpus = allowed.intersection(&topology.cpus());
        if cpus.is_empty() {
            return Err(Error::other(format!(
                "none of the CPUs that the process may use is online: {allowed}"
            )));
        }
        Ok(Self { cpus, quota: cgroup::cpu_quota() })
    }

    /// How many threads can run at once: more CPUs than that only share out the same quota.
    pub fn width(&self) -> usize {
        let quota = self.quota.map_or(usize::MAX, |quota| quota.ceil() as usize);
        self.cpus.len().min(quota).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_narrows_the_room() {
        let room = |quota| Room { cpus: CpuSet::up_to(8), quota }.width();
        assert_eq!([None, Some(1.5), Some(0.2), Some(64.0)].map(room), [8, 2, 1, 8]);
    }
}
