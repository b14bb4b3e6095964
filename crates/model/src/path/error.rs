//! What is wrong with a path's file, where, and what to add.

use std::fmt;

/// What is wrong with a path's file, or with what it asks of a profile, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    file: String,
    line: Option<usize>,
    reason: Reason,
}

/// What is wrong, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// It is no TOML, has a key that paths do not have, or a value that the key cannot have.
    #[error("{0}")]
    Toml(String),
    /// A value is out of bounds.
    #[error("{0}")]
    Value(String),
    /// Entries do not go together, or one is missing.
    #[error("{0}")]
    Entries(String),
    /// There is more of something than a path may have.
    #[error("{0}")]
    TooMany(String),
    /// A name leads nowhere.
    #[error("no {what} '{name}'; add it {}", to(what))]
    Unknown {
        /// The kind of entry.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two entries of a kind have one name.
    #[error("a second {what} '{name}'; the first is in {file}, line {line}")]
    Twice {
        /// The kind of entry.
        what: &'static str,
        /// The name.
        name: String,
        /// The file with the first of them.
        file: String,
        /// Its line there, counted from 1.
        line: usize,
    },
    /// Rates or files lead back to themselves.
    #[error("{0} each other: a cycle")]
    Cycle(String),
    /// A file that it includes cannot be had.
    #[error("cannot include '{name}': {why}")]
    Include {
        /// The file's name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The profile lacks a figure that the path takes from it.
    #[error("{0}")]
    Lacks(String),
    /// No path of this name comes with the program.
    #[error("no path of that name comes with the program; there are: {0}")]
    NotReady(String),
    /// A line holds no pair of bytes and ns, or a fit cannot take so few or so many pairs.
    #[error("{0}")]
    Pairs(String),
}

/// Where a path's file has entries of a kind.
fn to(what: &str) -> String {
    match what {
        "rate" | "cost" => format!("to [{what}s]"),
        _ => format!("as [[{what}]]"),
    }
}

impl Error {
    pub(super) fn of_file(file: &str, reason: Reason) -> Self {
        Self { file: file.to_owned(), line: None, reason }
    }

    pub(super) fn at(file: &str, line: usize, reason: Reason) -> Self {
        Self { line: Some(line), ..Self::of_file(file, reason) }
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
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

impl std::error::Error for Error {}
