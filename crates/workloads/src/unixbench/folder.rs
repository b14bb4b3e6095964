//! A private folder that the tests work in, with a process group that ends with it.

use std::path::Path;

use coho_platform::scratch::{self, Wish};

use crate::Error;

/// The folder; gone when dropped, or when this process is, even by SIGKILL.
pub struct Folder {
    scratch: scratch::Folder,
    group: libc::pid_t,
}

impl Folder {
    /// Creates one in `parent`, or in memory or, if no such folder can be made, among the temporary files.
    ///
    /// # Errors
    /// If none of them can be written or lets programs run, or the tests would not be ended if this process were
    /// killed.
    pub(super) fn create(parent: Option<&Path>) -> Result<Self, Error> {
        let scratch = scratch::Folder::create(Wish { name: "bench", parent, runs_programs: true })?;
        let group = scratch.group().map_err(|why| Error::Work(why.to_string()))?;
        Ok(Self { scratch, group })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// The file system's name.
    pub fn filesystem(&self) -> &str {
        self.scratch.filesystem()
    }

    /// Whether its files live in memory alone.
    pub fn is_in_memory(&self) -> bool {
        self.scratch.is_in_memory()
    }

    /// The process group that the tests belong to.
    pub(super) fn group(&self) -> libc::pid_t {
        self.group
    }

    /// Ends all processes of the group but the keeper.
    pub(super) fn end_all(&self) {
        self.scratch.end_group();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// As long as a folder waits for its keeper.
    const KEEPING: Duration = Duration::from_secs(60);

    #[test]
    fn it_goes_though_a_process_holds_its_pipe() {
        let folder = Folder::create(None).unwrap();
        let path = folder.path().to_owned();
        // SAFETY: the copy makes system calls alone, and ends by its timer or the signal.
        let holder = unsafe { libc::fork() };
        if holder == 0 {
            let held = coho_platform::timer::die_after(KEEPING);
            // SAFETY: no pointers.
            unsafe {
                while held.is_ok() {
                    libc::pause();
                }
                libc::_exit(1);
            }
        }
        let start = Instant::now();
        drop(folder);
        let taken = start.elapsed();
        // SAFETY: no status is asked for; the process is this one's child.
        unsafe {
            libc::kill(holder, libc::SIGKILL);
            libc::waitpid(holder, std::ptr::null_mut(), 0);
        }
        assert!(!path.exists());
        assert!(taken < KEEPING, "{taken:?}");
    }
}
