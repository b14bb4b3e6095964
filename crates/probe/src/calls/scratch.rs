//! A private folder in memory for the calls' files, which does not outlive the process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use coho_platform::scratch::{Folder, Wish};

use crate::Error;

/// A file's place in the folder, which is removed with all its files when the last of its places is dropped.
pub(super) struct Scratch {
    folder: Arc<Folder>,
    name: String,
}

impl Scratch {
    /// Creates the folder in memory or, if no such file system can be written, among the temporary files.
    ///
    /// # Errors
    /// If none of them can be written.
    pub(super) fn create() -> Result<Self, Error> {
        Self::wish(Wish { name: "calls", ..Wish::default() })
    }

    /// Creates the folder in another one.
    ///
    /// # Errors
    /// If that cannot be written.
    pub(super) fn within(parent: &Path) -> Result<Self, Error> {
        Self::wish(Wish { name: "calls", parent: Some(parent), ..Wish::default() })
    }

    fn wish(wish: Wish<'_>) -> Result<Self, Error> {
        let folder = Folder::create(wish)?;
        Ok(Self { folder: Arc::new(folder), name: "file".into() })
    }

    /// The place of another file in the same folder.
    pub(super) fn beside(&self, name: &str) -> Self {
        Self { folder: Arc::clone(&self.folder), name: name.into() }
    }

    /// Path of the file, which the caller creates.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// The file system's name.
    pub(super) fn filesystem(&self) -> &str {
        self.folder.filesystem()
    }

    /// Whether its files live in memory alone.
    pub(super) fn is_in_memory(&self) -> bool {
        self.folder.is_in_memory()
    }
}
