//! A private folder that the tests work in, and the keeper that clears up behind them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Error, filesystem};

/// Waits until the process that started it lets go of it or is gone, whatever ended it; then ends what is left of the
/// tests, which are in its process group, and removes the folder.
const KEEPER: &str = r#"
trap '' HUP INT QUIT TERM
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
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| Error::other(format!("/bin/sh: {error}")))?;
        Ok(Self { path: folder.keep(), filesystem, keeper })
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
        drop(self.keeper.stdin.take());
        // It ends by itself; nobody else waits for it.
        let _ = self.keeper.wait();
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
    fn a_place_that_cannot_be_written_is_named() {
        let error = Folder::create(Some(Path::new("/proc"))).err().expect("nothing can be made in /proc");
        assert!(error.to_string().contains("/proc"), "{error}");
    }
}
