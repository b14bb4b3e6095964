//! The file that a report is written to.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use coho_profile::{check_unnamed, check_writable, write_atomic, write_unnamed};
use coho_show::render::html::is_report;

/// A report's file: one that the user has named, or else a default.
#[derive(Debug)]
pub struct PageFile {
    path: PathBuf,
    is_named: bool,
}

impl PageFile {
    pub fn new(named: Option<&Path>, default: impl Into<PathBuf>) -> Self {
        Self { path: named.map_or_else(|| default.into(), Path::to_path_buf), is_named: named.is_some() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the report can be written, and that it replaces only an earlier report unless the user has named
    /// its file.
    ///
    /// # Errors
    /// If not; where another file is in the way, `option` names a better one.
    pub fn check(&self, option: &str) -> anyhow::Result<()> {
        if self.is_named {
            return Ok(check_writable(&self.path)?);
        }
        check_unnamed(&self.path)?;
        ensure!(
            !self.path.exists() || is_report(&self.path),
            "{} is not a report of coho's; name another file by {option}",
            self.path.display()
        );
        Ok(())
    }

    /// Writes the report.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, page: &str) -> anyhow::Result<()> {
        let write = if self.is_named { write_atomic } else { write_unnamed };
        Ok(write(&self.path, page.as_bytes())?)
    }
}
