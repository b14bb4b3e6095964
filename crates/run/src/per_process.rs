//! Distributes a job's processes over CPUs, or over hosts, by a library that is preloaded into each.

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
    hosts: bool,
}

impl Turns {
    /// For a job whose first process takes the first of these CPUs, if there are any, and of the CPUs of each list of
    /// hosts, if there are `hosts` to take.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn new(order: &[u32], hosts: bool) -> io::Result<Self> {
        let wish = Wish { name: "run", ..Wish::default() };
        let folder = Folder::create(wish).map_err(|error| io::Error::other(error.to_string()))?;
        File::create_new(folder.path().join(NAME))?.set_len(BYTES)?;
        File::create_new(folder.path().join(HOSTS))?;
        Ok(Self { folder, order: order.to_vec(), hosts })
    }

    /// Variables that make a program's processes take CPUs in turn, if [`Library::Pin`](crate::preload::Library::Pin)
    /// is loaded, and hosts, if [`Library::Delegate`](crate::preload::Library::Delegate) is.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn environment(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let folder = fs::canonicalize(self.folder.path())?;
        let mut variables = Vec::new();
        if self.hosts {
            variables.push(("COHO_DELEGATE_TURNS".into(), folder.join(HOSTS).into()));
        }
        if !self.order.is_empty() {
            variables.push(("COHO_DEAL".into(), per_thread::list(&self.order).into()));
            variables.push(("COHO_DEAL_TURNS".into(), folder.join(NAME).into()));
        }
        Ok(variables)
    }
}

const NAME: &str = "turns";
const HOSTS: &str = "hosts";
