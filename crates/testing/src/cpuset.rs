//! A control group whose processes may use some CPUs only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where hierarchies with cpusets are mounted: version 1, and version 2 alone or beside it.
const PLACES: [&str; 3] = ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// A cpuset of the test's own; removed when dropped, once its processes have ended.
#[derive(Debug)]
pub struct Cpuset(PathBuf);

impl Cpuset {
    /// A group with these CPUs, as in `0-3`. [`Capability::Cpusets`](crate::Capability::Cpusets) is needed.
    ///
    /// # Errors
    /// Why there is none in any place.
    pub fn of(cpus: &str) -> io::Result<Self> {
        let mut why = io::Error::from(io::ErrorKind::NotFound);
        for place in PLACES {
            match Self::below(Path::new(place), cpus) {
                Ok(group) => return Ok(group),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    fn below(place: &Path, cpus: &str) -> io::Result<Self> {
        // In version 2 the controller must have been handed on; version 1 wants memory nodes as well.
        let nodes = fs::read_to_string(place.join("cpuset.mems"))
            .or_else(|_| fs::read_to_string(place.join("cpuset.mems.effective")))?;
        let path = place.join(format!("coho-test-{}-{cpus}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self(path);
        fs::write(group.0.join("cpuset.mems"), nodes.trim())?;
        fs::write(group.0.join("cpuset.cpus"), cpus)?;
        Ok(group)
    }

    /// The file to which a process writes its number to become a member.
    #[must_use]
    pub fn members(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
