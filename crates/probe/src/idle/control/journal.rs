//! The contents before a change: on disk before anything is changed, and until everything is restored.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use coho_platform::trust;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::idle::files::{CPUS, Root};

/// Its folder: gone after a restart of the machine, like the changes.
const FOLDER: &str = "run/coho";
const JOURNAL: &str = "idle.json";
const UNFINISHED: &str = "idle.json.new";
const LOCK: &str = "idle.lock";
/// The largest journal; one for 512 CPUs with ten states takes a tenth of this.
const LONGEST: u64 = 1 << 24;

/// A file and what it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    pub path: String,
    pub text: String,
}

/// The right to change and to restore, which only one process has at a time; the kernel releases it when the process
/// ends.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    lock: File,
}

impl Journal {
    /// Takes the right.
    ///
    /// # Errors
    /// If another process has it, or another user may write the folder.
    pub(super) fn open(root: &Root) -> Result<Self, Error> {
        let folder = root.path(FOLDER);
        let failed = |what: &Path, error: io::Error| Error::system(what.display(), error);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&folder, error)),
            _ => {}
        }
        let found = fs::symlink_metadata(&folder).map_err(|error| failed(&folder, error))?;
        if !found.is_dir() {
            return Err(Error::not_available(format!("{} must be a folder", folder.display())));
        }
        trust::check_one(&folder, &found).map_err(|why| {
            Error::not_available(format!(
                "{} must be a folder that no other user can write to: {why}",
                folder.display()
            ))
        })?;
        let path = folder.join(LOCK);
        let lock = private().create(true).open(&path).map_err(|error| failed(&path, error))?;
        // SAFETY: a call without memory arguments on an open file.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(Error::held(format!(
                "another coho holds {}: it has changed idle states or governors, and restores them at its end",
                path.display()
            )));
        }
        Ok(Self { folder, lock })
    }

    /// Records the old contents, so that they outlive the process. There must be no earlier journal.
    pub(super) fn write(&self, before: &[Before]) -> Result<(), Error> {
        let text =
            serde_json::to_string_pretty(before).map_err(|error| Error::system("the journal", error))?;
        let unfinished = self.folder.join(UNFINISHED);
        let written = (|| {
            // If an earlier run left a half-written journal, it made no change after it.
            remove(&unfinished)?;
            let mut file = private().create_new(true).open(&unfinished)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, self.folder.join(JOURNAL))?;
            File::open(&self.folder)?.sync_all()
        })();
        written.map_err(|error: io::Error| {
            Error::system(format!("nothing was changed: {}", unfinished.display()), error)
        })
    }

    /// What an earlier run recorded and did not restore; `None` if there is nothing to restore.
    ///
    /// # Errors
    /// If it cannot be read, or cannot have been written by a run.
    pub(super) fn read(&self) -> Result<Option<Vec<Before>>, Error> {
        let path = self.folder.join(JOURNAL);
        let refused = |why: String| Error::system(path.display(), why);
        let file = match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| refused(error.to_string()))?,
        };
        let found = file.metadata().map_err(|error| refused(error.to_string()))?;
        if !found.is_file() || !trust::is_mine(&found) || found.mode() & 0o077 != 0 {
            return Err(refused(
                "it must be a file that only this user can read and write; nothing in it is trusted".into(),
            ));
        }
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
        let before: Vec<Before> = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        match before.iter().find(|before| !is_known(&before.path)) {
            Some(other) => Err(refused(format!("it names '{}', which coho never changes", other.path))),
            None => Ok(Some(before)),
        }
    }

    /// Forgets what is restored.
    pub(super) fn remove(&self) -> Result<(), Error> {
        let path = self.folder.join(JOURNAL);
        let removed = remove(&self.folder.join(UNFINISHED))
            .and_then(|()| remove(&path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        removed.map_err(|error| Error::system(path.display(), error))
    }
}

impl Drop for Journal {
    /// Closing the file does not give the right up while a child that another thread has forked, and that has not
    /// called `exec` yet, has it open too.
    fn drop(&mut self) {
        // SAFETY: a call without memory arguments on an open file.
        unsafe { libc::flock(self.lock.as_raw_fd(), libc::LOCK_UN) };
    }
}

/// A file of this user's alone, never one behind a link.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a path is one that plans may change.
fn is_known(path: &str) -> bool {
    let numbered = |part: &str, prefix| {
        part.strip_prefix(prefix)
            .is_some_and(|n: &str| !n.is_empty() && n.len() < 6 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let rest = path.strip_prefix(CPUS).and_then(|rest| rest.strip_prefix('/'));
    match rest.map(|rest| rest.split('/').collect::<Vec<_>>()).as_deref() {
        Some([cpu, "cpuidle", state, "disable"]) => numbered(cpu, "cpu") && numbered(state, "state"),
        Some(["cpufreq", policy, "scaling_governor"]) => numbered(policy, "policy"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_plans_are_made_of_are_written() {
        for good in ["cpu0/cpuidle/state3/disable", "cpufreq/policy12/scaling_governor"] {
            assert!(is_known(&format!("{CPUS}/{good}")), "{good}");
        }
        for bad in [
            "cpu0/cpuidle/state/disable",
            "../../../etc/passwd",
            "cpu0/online",
            "cpu0/cpuidle/../disable",
            "",
        ] {
            assert!(!is_known(&format!("{CPUS}/{bad}")), "{bad}");
        }
        assert!(!is_known("etc/passwd") && !is_known("/etc/passwd") && !is_known(""));
    }
}
