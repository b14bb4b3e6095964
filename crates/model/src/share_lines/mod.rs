//! Which cache lines a program's threads share, from recordings of its runs: what instructions touched, what was
//! allocated when, and where threads were from tick to tick.
//!
//! A recording is read by a [`Reader`] to a [`Run`], whose lines still name addresses in files. Who knows the files'
//! symbols gives each line a name; [`merged`] then brings together what several runs saw of it, and [`costs`] tells
//! what its instructions take more on several CPUs than on one.

mod cost;
mod memory;
mod merge;
mod pattern;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use cost::{Code, costs, why_no_cost};
pub use merge::{Merged, merged};
pub use pattern::{Count, Evidence, Part};
pub use read::{Reader, Run};

/// Bytes of a line: what travels between caches on every machine that records.
pub const LINE: u64 = 64;

/// A place in a file's code or data. Unlike an address, it is the same in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InFile {
    /// The file, by its number in [`Files`]; [`Files::NONE`] for what lies in none.
    pub file: u32,
    /// The address within it.
    pub address: u64,
}

/// The programs and libraries that recordings name.
#[derive(Debug, Clone, Default)]
pub struct Files {
    paths: Vec<PathBuf>,
}

/// More files than a program loads; code in any further file counts as unknown.
const MOST_FILES: usize = 4096;

impl Files {
    /// The number of what lies in no file.
    pub const NONE: u32 = u32::MAX;

    /// A file's number, the same at each call.
    pub fn number(&mut self, path: PathBuf) -> u32 {
        let known = self.paths.iter().position(|one| *one == path);
        if known.is_none() && self.paths.len() >= MOST_FILES {
            return Self::NONE;
        }
        let at = known.unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        });
        u32::try_from(at).unwrap_or(Self::NONE)
    }

    /// A file by its number.
    pub fn path(&self, number: u32) -> Option<&PathBuf> {
        self.paths.get(number as usize)
    }
}

/// What lies at an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// Memory that was allocated.
    Allocated {
        /// The addresses to which the allocator and its callers return, the innermost first; some may be no such
        /// addresses.
        frames: Vec<InFile>,
        /// Its size.
        bytes: u64,
        /// Where the line begins within it: below 0 if it begins before.
        offset: i64,
    },
    /// A file's data: the line's first address that threads touch.
    Global(InFile),
    /// The stack of a thread, by its rank.
    Stack(u64),
    /// Memory of which no allocation was seen.
    Unknown,
}

/// A line of one process, in one run, that goes back and forth.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What lies in it and is touched.
    pub objects: Vec<Object>,
    /// How many allocations, globals' bytes and so on its threads touch; more than one can be separated without a
    /// change to a declaration.
    pub allocations: usize,
    /// What threads do to it.
    pub evidence: Evidence,
    /// The instructions that touch it: how often that was seen, and their length.
    pub code: BTreeMap<InFile, Touched>,
    /// CPU time in seconds at places from which threads soon come to it, or have just come.
    pub near: BTreeMap<InFile, f64>,
}

/// How often an instruction was seen to touch a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// So often.
    pub times: u64,
    /// The instruction's bytes.
    pub length: u8,
}
