//! Reading and writing files without ever leaving half of one.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

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

/// No profile or matrix is longer: one of 512 CPUs with every method takes a third of it.
const MAX_BYTES: u64 = 1 << 29;

/// Reads a text file, but no endless one.
///
/// # Errors
/// If it cannot be read, is longer than 512 MiB, or is no UTF-8.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    coho_topology::read_text(file, path, MAX_BYTES).map_err(|error| Error::new(error.to_string()))
}

/// Writes a file under a temporary name in the same folder, syncs it and renames it into place.
///
/// A reader sees the old file or the new one, also after a crash. If `path` is a symbolic link, the link is
/// replaced, not followed. Devices such as `/dev/stdout` are written to directly.
///
/// # Errors
/// If any step fails; the temporary file is then removed and `path` is untouched.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::io(path, &error);
    if is_stream(path) {
        return OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(failed);
    }
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().ok_or_else(|| Error::new(format!("'{}' names no file", path.display())))?;
    let (temporary, mut file) = create_beside(folder, name).map_err(failed)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| File::open(folder)?.sync_all());
    written.map_err(|error| {
        // It may be gone already if only the last sync failed.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// Whether the path names a device, a pipe, or what a process has open (`/dev/stdout`, also where that is a file).
fn is_stream(path: &Path) -> bool {
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let folder = path.parent().and_then(|parent| parent.canonicalize().ok()).unwrap_or_default();
    special || folder == Path::new("/dev") || folder.starts_with("/proc")
}

/// A new file beside the target, never one that exists: nobody's file is overwritten and no link followed.
fn create_beside(folder: &Path, name: &std::ffi::OsStr) -> std::io::Result<(PathBuf, File)> {
    let mut attempt = 0u32;
    loop {
        let temporary =
            folder.join(format!(".{}.{}.{attempt}.tmp", name.to_string_lossy(), std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            opened => return opened.map(|file| (temporary, file)),
        }
    }
}
