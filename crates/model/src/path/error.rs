//! What is wrong with a path's file, where, and what to add.

use std::fmt;

/// What is wrong with a path's file, or with what it asks of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    file: String,
    line: Option<usize>,
    message: String,
}

impl Error {
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into() }
    }

    pub(super) fn at(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of_file(file, message) }
    }

    /// The file with the error.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line with the error, counted from 1, where it is a single one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// What is wrong, and how to fix it.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}
