//! A private folder in memory for the calls' files, which does not outlive the process.

use std::path::PathBuf;

use coho_platform::scratch::{Folder, Wish};

use crate::Error;

/// The folder; removed with its file when dropped.
pub(super) struct Scratch(Folder);

impl Scratch {
    /// Creates it in memory or, where no file system there can be written, among the temporary files.
    ///
    /// # Errors
    /// If none of them can be written.
    pub(super) fn create() -> Result<Self, Error> {
        let folder = Folder::create(Wish { name: "calls", ..Wish::default() });
        folder.map(Self).map_err(|error| Error::other(error.to_string()))
    }

    /// Path of the only file, which the caller creates.
    pub(super) fn file(&self) -> PathBuf {
        self.0.path().join("file")
    }

    /// The file system's name.
    pub(super) fn filesystem(&self) -> &str {
        self.0.filesystem()
    }

    /// Whether its files live in memory alone.
    pub(super) fn is_in_memory(&self) -> bool {
        self.0.is_in_memory()
    }
}
