//! A control group whose processes get only so much CPU time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Short, so that a burst spans several.
const PERIOD_US: f64 = 10_000.0;

/// The group; it is removed when dropped, after its processes have ended.
pub struct Quota(PathBuf);

impl Quota {
    /// A group of this machine's own hierarchy that gets the time of this many CPUs.
    ///
    /// # Errors
    /// Where control groups cannot be written.
    pub fn of_cpus(cpus: f64) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup");
        let quota = (cpus * PERIOD_US) as u64;
        let unified = root.join("cgroup.controllers").exists();
        let (parent, limits) = if unified {
            (root.to_path_buf(), vec![("cpu.max", format!("{quota} {PERIOD_US}"))])
        } else {
            let period = ("cpu.cfs_period_us", PERIOD_US.to_string());
            (root.join("cpu"), vec![period, ("cpu.cfs_quota_us", quota.to_string())])
        };
        let group = Self(parent.join(format!("coho-peers-{}", std::process::id())));
        let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir(&group.0).map_err(|error| told(&group.0, error))?;
        for (file, limit) in limits {
            let path = group.0.join(file);
            fs::write(&path, limit).map_err(|error| told(&path, error))?;
        }
        Ok(group)
    }

    /// The same command, as one that joins the group before it begins.
    pub fn confine(&self, command: &Command) -> Command {
        let mut confined = Command::new("sh");
        confined.args(["-c", r#"echo $$ >"$0"/cgroup.procs && exec "$@""#]).arg(&self.0);
        confined.arg(command.get_program()).args(command.get_args());
        confined
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
