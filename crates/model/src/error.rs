//! What is wrong with a matrix, and where.

use std::fmt;

/// A matrix of times that could not be read; places count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    line: Option<usize>,
    column: Option<usize>,
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { line: None, column: None, message: message.into() }
    }

    pub(crate) fn at(line: usize, column: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), column: Some(column), message: message.into() }
    }

    pub(crate) fn on(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), column: None, message: message.into() }
    }

    /// The line with the error, if there is one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The cell of that line with the error, if there is one.
    pub fn column(&self) -> Option<usize> {
        self.column
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, cell {column}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
