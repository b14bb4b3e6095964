//! A private folder that the tests work in, and the keeper that clears up behind them.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Error, filesystem};

/// How long the keeper is waited for: to begin, and to remove the folder.
const KEEPING: Duration = Duration::from_secs(60);
/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(1);

/// Says that no signal ends it, then waits until the process that started it says a word or is gone, whatever ended it;
/// then ends what is left of the tests, which are in its process group, and removes the folder.
const KEEPER: &str = r#"
trap '' HUP INT QUIT TERM
echo
read -r _
kill -TERM 0
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

/// The folder; gone when dropped, or when this process is, even by SIGKILL.
pub(super) struct Folder {
    path: PathBuf,
    filesystem: String,
    keeper: Child,
}

impl Folder {
    /// Makes one in `parent`, or in memory, or where there is no memory for it among the temporary files.
    ///
    /// # Errors
    /// If none of them can be written or lets programs run, or there is no `sh`.
    pub(super) fn create(parent: Option<&Path>) -> Result<Self, Error> {
        let parents = match parent {
            Some(parent) => vec![parent.to_path_buf()],
            None => filesystem::temporary().collect(),
        };
        let mut refused = Vec::new();
        for parent in parents {
            if !parent.is_dir() {
                refused.push(format!("{}: there is no such folder", parent.display()));
                continue;
            }
            if !filesystem::runs_programs(&parent) {
                refused.push(format!("{}: programs may not run there", parent.display()));
                continue;
            }
            match tempfile::Builder::new().prefix("coho-bench-").tempdir_in(&parent) {
                Ok(folder) => return Self::keep(folder),
                Err(error) => refused.push(format!("{}: {error}", parent.display())),
            }
        }
        Err(Error::other(format!("no folder for the tests ({})", refused.join("; "))))
    }

    fn keep(folder: tempfile::TempDir) -> Result<Self, Error> {
        use std::os::unix::process::CommandExt;
        let filesystem = filesystem::name(folder.path()).map_err(|error| Error::other(error.to_string()))?;
        let keeper = Command::new("/bin/sh")
            .args(["-c", KEEPER, "coho"])
            .arg(folder.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| Error::other(format!("/bin/sh: {error}")))?;
        let mut kept = Self { path: folder.keep(), filesystem, keeper };
        let ready = kept.keeper.stdout.take().expect("it was piped");
        if says_something(ready) { Ok(kept) } else { Err(Error::other("/bin/sh: it did not begin in time")) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file system's name.
    pub(super) fn filesystem(&self) -> &str {
        &self.filesystem
    }

    /// Whether its files live in memory alone.
    pub(super) fn is_in_memory(&self) -> bool {
        filesystem::is_in_memory(&self.filesystem)
    }

    /// The process group that the tests belong to.
    pub(super) fn group(&self) -> libc::pid_t {
        self.keeper.id() as libc::pid_t
    }

    /// Ends all processes of the group but the keeper.
    pub(super) fn end_all(&self) {
        // SAFETY: no pointers; the group is the keeper's, which is alive as it waits for its end of the pipe.
        unsafe { libc::kill(-self.group(), libc::SIGTERM) };
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A word, not the pipe's end alone: a process that was forked meanwhile holds the pipe open for as long as it
        // lives.
        if let Some(mut pipe) = self.keeper.stdin.take() {
            let _ = pipe.write_all(b"\n");
        }
        let start = Instant::now();
        while matches!(self.keeper.try_wait(), Ok(None)) && start.elapsed() < KEEPING {
            sleep(LOOK);
        }
        // Only a keeper that was killed, or is still at it, has left anything.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Whether something comes by a pipe in time.
fn says_something(mut pipe: ChildStdout) -> bool {
    let mut entry = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let end = Instant::now() + KEEPING;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // SAFETY: one entry, which is valid for writes.
        match unsafe { libc::poll(&mut entry, 1, left.as_millis() as i32) } {
            1 => return pipe.read_exact(&mut [0]).is_ok(),
            -1 if std::io::Error::last_os_error().kind() == ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_it() {
        let folder = Folder::create(None).unwrap();
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("deeper")).unwrap();
        std::fs::write(path.join("deeper/file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn it_goes_though_a_process_holds_its_pipe() {
        let folder = Folder::create(None).unwrap();
        let path = folder.path().to_owned();
        // SAFETY: the copy makes system calls alone, and ends by its timer or the signal.
        let holder = unsafe { libc::fork() };
        if holder == 0 {
            let held = crate::timer::die_after(KEEPING);
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

    #[test]
    fn one_whose_keeper_was_killed_goes_as_well() {
        let folder = Folder::create(None).unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("file"), "x").unwrap();
        // SAFETY: no pointers; the keeper has not been waited for, so the number is its own.
        unsafe { libc::kill(folder.group(), libc::SIGKILL) };
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let error = Folder::create(Some(Path::new("/proc"))).err().expect("nothing can be made in /proc");
        assert!(error.to_string().contains("/proc"), "{error}");
    }
}
