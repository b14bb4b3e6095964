//! Recorded runs: what a preloaded library writes into a file, or coho samples itself, and what it says of each run.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use coho_model::share_lines::{Files, Reader, Run};
use coho_recording::{CHUNK, FILE, Recording, create};

use crate::child::Samples;
use crate::unnamed;

/// Bytes of the file; a run of some seconds uses few of them.
const BYTES: usize = 128 << 20;

/// Addresses that recording may take: the file, room for itself, and a word for each of the program's blocks.
const ADDRESSES: u64 = 4 * BYTES as u64;

/// What may have kept a program from being recorded: a limit of its addresses, which it has from this process.
pub(super) fn little_room() -> Option<String> {
    let most = coho_platform::memory::most_addresses().filter(|most| *most < ADDRESSES)?;
    let mib = |bytes: u64| bytes >> 20;
    Some(format!(
        "it may have {} MiB of addresses (ulimit -v), of which recording takes up to {}",
        mib(most),
        mib(ADDRESSES)
    ))
}

/// The recorded runs of a program.
#[derive(Default)]
pub(super) struct Recordings {
    /// The files that they name.
    pub(super) files: Files,
    /// Records that found no room.
    pub(super) lost: u64,
    /// Folders that the files' paths lead through.
    roots: Vec<Arc<File>>,
}

/// The file of one run. It lies in memory and has no name, so that nothing is left behind, whatever ends this process.
pub(super) struct Place {
    file: File,
}

impl Place {
    /// A new file.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn new() -> io::Result<Self> {
        let file = unnamed::file(c"coho-share")?;
        create(&file, BYTES / CHUNK)?;
        Ok(Self { file })
    }

    /// The variable that makes a program record itself there.
    pub(super) fn variable(&self) -> (OsString, OsString) {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        (FILE.into(), path.into())
    }
}

impl Recordings {
    /// Reads what a run has recorded.
    pub(super) fn read(&mut self, place: &Place, with_lines: bool) -> Result<Run, String> {
        let recording = Recording::open(&place.file).map_err(|why| why.to_string())?;
        let mut reader = Reader::new(&mut self.files);
        recording.for_each(|item| reader.add(item)).map_err(|why| why.to_string())?;
        self.lost += recording.lost;
        Ok(reader.done(with_lines))
    }

    /// Reads what was sampled of a run.
    pub(super) fn read_samples(&mut self, samples: Samples, with_lines: bool) -> Run {
        let mut reader = Reader::new(&mut self.files);
        samples.items.into_iter().for_each(|item| reader.add(item));
        self.lost += samples.lost;
        self.roots.extend(samples.roots);
        reader.done(with_lines)
    }
}
