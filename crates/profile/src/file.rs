//! Reading and writing files, never leaving half a file behind.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::replacement::{Replacement, folder};

/// A failure to read or write a profile.
#[derive(Debug)]
pub struct Error {
    file: Option<PathBuf>,
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { file: None, message: message.into() }
    }

    pub(crate) fn from_json(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }

    pub(crate) fn io(file: &Path, error: &std::io::Error) -> Self {
        Self { file: Some(file.to_path_buf()), message: error.to_string() }
    }

    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}: {}", file.display(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

/// The size limit of a profile or matrix. A profile of 512 CPUs with every method takes a third of it.
pub(crate) const MAX_BYTES: u64 = 1 << 29;

/// Reads a text file of bounded size.
///
/// # Errors
/// If the file cannot be read, is longer than 512 MiB, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    read_open(file, path)
}

/// As [`read_text`], for an open file.
pub(crate) fn read_open(file: File, path: &Path) -> Result<String, Error> {
    coho_topology::read_text(file, path, MAX_BYTES).map_err(|error| Error::new(error.to_string()))
}

/// Replaces a whole file: a reader sees the old content or the new, even after a crash, and several writers take
/// turns. The user has named the file: symbolic links are followed, and devices and pipes such as `/dev/stdout` are
/// written to directly.
///
/// # Errors
/// If any step fails; the file is then unchanged.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomic_by(path, |out| out.write_all(bytes))
}

/// As [`write_atomic`], for a file that the user has not named, such as one of many in a folder: it becomes a regular
/// file, or stays as it is.
///
/// # Errors
/// As [`write_atomic`], or if a symbolic link, a device or a pipe is in its place.
pub fn write_unnamed(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Replacement::begin_unnamed(path)?.finish(|out| out.write_all(bytes))
}

/// As [`write_atomic`], for content that need not fit into memory.
pub(crate) fn write_atomic_by(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    if !is_stream(path) {
        return Replacement::begin(path)?.finish(|out| content(out));
    }
    let write = |file: File| {
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        out.flush()
    };
    OpenOptions::new().write(true).open(path).and_then(write).map_err(|error| Error::io(path, &error))
}

/// Checks that [`write_atomic`] can write there by doing everything but the writing.
///
/// # Errors
/// As [`write_atomic`].
pub fn check_writable(path: &Path) -> Result<(), Error> {
    if is_stream(path) { Ok(()) } else { Replacement::begin(path).map(drop) }
}

/// Checks that [`write_unnamed`] can write there by doing everything but the writing.
///
/// # Errors
/// As [`write_unnamed`].
pub fn check_unnamed(path: &Path) -> Result<(), Error> {
    Replacement::begin_unnamed(path).map(drop)
}

/// Whether the path names a device, a pipe, or a file that a process has open (`/dev/stdout`, even where that is a
/// file).
pub(crate) fn is_stream(path: &Path) -> bool {
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let folder = folder(path).canonicalize().unwrap_or_default();
    special || folder == Path::new("/dev") || folder.starts_with("/proc")
}
