//! Copies of programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Copies a program, in a process of its own. A file that is open for writing anywhere cannot be run, and what this
/// process has open is also open in a child of another test's thread until the child calls `exec`.
///
/// # Panics
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("--").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} to {}", from.display(), to.display());
}

/// A copy of a program that runs with another user's rights, whoever starts it. The test needs
/// [`SetUserId`](crate::Capability::SetUserId).
#[derive(Debug)]
pub struct Privileged(TempDir);

impl Privileged {
    /// Copies it to the temporary files, where the capability has shown that such rights count.
    ///
    /// # Panics
    /// If that fails.
    pub fn of(program: &Path) -> Self {
        let this = Self(tempfile::tempdir().expect("a folder"));
        copy_program(program, &this.program());
        chown(this.program(), Some(65_534), Some(65_534)).expect("another owner");
        fs::set_permissions(this.program(), fs::Permissions::from_mode(0o4755)).expect("another mode");
        this
    }

    /// Its path.
    pub fn program(&self) -> PathBuf {
        self.0.path().join("program")
    }
}
