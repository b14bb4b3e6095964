//! Errors in a source, and where they are.

use std::fmt;
use std::path::{Path, PathBuf};

use coho_platform::{InvalidCpus, pin};

use crate::plain::plain;

/// Why a source cannot be read or believed: what is wrong, where (file and line, if any) and what to do.
///
/// Prints as `FILE:LINE: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    file: Option<PathBuf>,
    line: Option<usize>,
    message: String,
}

impl Error {
    /// An error that is not yet tied to a place. Control characters of the message, which may quote the source, are
    /// dropped.
    pub fn new(message: impl Into<String>) -> Self {
        let mut message = message.into();
        plain(&mut message);
        Self { file: None, line: None, message }
    }

    /// An error at a line, counted from 1, of a text whose file the caller adds with [`Error::in_file`].
    pub fn at_line(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// The failure of an input or output operation on `file`.
    pub fn io(file: &Path, error: &std::io::Error) -> Self {
        Self { file: Some(file.to_path_buf()), ..Self::new(error.to_string()) }
    }

    /// Names the file, unless a deeper call has named one.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    /// Names the line, counted from 1, unless a deeper call has named one.
    #[must_use]
    pub fn or_line(mut self, line: usize) -> Self {
        self.line.get_or_insert(line);
        self
    }

    /// The file at fault, if one was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The line at fault, counted from 1.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: {}", file.display(), self.message),
            (Some(file), None) => write!(f, "{}: {}", file.display(), self.message),
            (None, Some(line)) => write!(f, "line {line}: {}", self.message),
            (None, None) => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<pin::Error> for Error {
    fn from(error: pin::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<InvalidCpus> for Error {
    fn from(error: InvalidCpus) -> Self {
        Self::new(error.to_string())
    }
}
