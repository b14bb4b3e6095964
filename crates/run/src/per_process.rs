//! Distributes a job's processes over CPUs, by a library that is preloaded into each.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;

use coho_platform::scratch::{Folder, Wish};

use crate::per_thread;

/// Size of the file that holds whose turn it is: at least `coho_pin::TURNS_BYTES`.
const BYTES: u64 = 64 << 10;

/// Whose turn it is among the processes of one job; dropping this removes their file.
#[derive(Debug)]
pub(crate) struct Turns {
    folder: Folder,
    order: Vec<u32>,
}

impl Turns {
    /// For a job whose first process takes the first of these CPUs.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn new(order: &[u32]) -> io::Result<Self> {
        let wish = Wish { name: "run", ..Wish::default() };
        let folder = Folder::create(wish).map_err(|error| io::Error::other(error.to_string()))?;
        File::create_new(folder.path().join(NAME))?.set_len(BYTES)?;
        Ok(Self { folder, order: order.to_vec() })
    }

    /// Variables that make a program's processes take CPUs in turn, if [`Library::Pin`](crate::preload::Library::Pin)
    /// is loaded.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn environment(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let file = fs::canonicalize(self.folder.path())?.join(NAME);
        Ok(vec![
            ("COHO_DEAL".into(), per_thread::list(&self.order).into()),
            ("COHO_DEAL_TURNS".into(), file.into()),
        ])
    }
}

const NAME: &str = "turns";
