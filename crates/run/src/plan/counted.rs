//! A command's use of OpenMP, counted in its processes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use coho_model::openmp::{Counts, Process};
use coho_platform::scratch::{Folder, Wish};
use coho_profile::{check_writable, read_text, write_atomic};

use super::{Error, Listener, Notice};
use crate::child::words;

/// The most processes that are read; a command with more is a system rather than a program.
const MOST: usize = 10_000;

/// A folder into which each process writes its counts when it exits. Dropping this deletes the folder.
pub(super) struct Counted {
    folder: Folder,
    file: PathBuf,
}

impl Counted {
    /// Creates the folder for counts that are to end up in a file.
    pub(super) fn new(file: &Path) -> Result<Self, Error> {
        check_writable(file)?;
        let folder =
            Folder::create(Wish { name: "count", ..Wish::default() }).map_err(Error::NoCountFolder)?;
        Ok(Self { folder, file: file.to_owned() })
    }

    /// The variable that makes processes count.
    pub(super) fn environment(&self) -> Result<(OsString, OsString), Error> {
        let path = fs::canonicalize(self.folder.path()).map_err(Error::CountFolder)?;
        Ok(("COHO_OPENMP_COUNT".into(), path.into()))
    }

    /// Writes the processes' counts to the requested file, and reports them.
    pub(super) fn save(self, command: &[OsString], listener: &mut dyn Listener) -> Result<(), Error> {
        let processes = self.processes(listener).map_err(Error::CountFolder)?;
        if processes.is_empty() {
            listener.hear(Notice::NothingCounted);
            return Ok(());
        }
        processes.iter().for_each(|process| listener.hear(Notice::Counted(process)));
        let command = words(command);
        let counts = Counts { openmp_counts: 1, command, processes };
        let text = serde_json::to_string_pretty(&counts).expect("counts are JSON") + "\n";
        Ok(write_atomic(&self.file, text.as_bytes())?)
    }

    fn processes(&self, listener: &mut dyn Listener) -> io::Result<Vec<Process>> {
        let mut processes = Vec::new();
        for entry in fs::read_dir(self.folder.path())?.take(MOST) {
            match read(&entry?.path()) {
                Ok(process) => processes.push(process),
                Err(why) => listener.hear(Notice::Illegible(why)),
            }
        }
        processes.sort_by_key(|process: &Process| process.pid);
        Ok(processes)
    }
}

fn read(path: &Path) -> Result<Process, String> {
    let text = read_text(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
