//! The lines of a program of which perf has recorded memory samples, where a CPU has a counter that takes them.

#[cfg(test)]
mod tests;
mod text;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coho_model::share_lines::Reader;
use coho_platform::host::date;
use coho_profile::{Method, Share, ShareTotal};
use serde_json::json;

use super::lines::{Recorded, lines};
use super::recordings::Recordings;
use text::Samples;

const DESCRIPTION: &str = "perf has recorded samples of loads and stores: instructions and the addresses that they \
                           used. No allocations are known.";
const WHY_NO_TOTAL: &str =
    "samples say where threads meet, not what it costs; `coho share -- PROGRAM` tells that";
/// What a file that perf has recorded begins with.
const MAGIC: &[u8] = b"PERFILE2";
/// What perf is asked to print of each sample.
const FIELDS: &str = "pid,tid,time,ip,addr,data_src";

/// Why a file gives no lines.
#[derive(Debug)]
pub enum NotRead {
    /// It cannot be read.
    Io(PathBuf, io::Error),
    /// It is perf's own file, and perf cannot be run to print it.
    NoPerf(PathBuf, io::Error),
    /// perf does not print it: its words.
    Refused(PathBuf, String),
    /// It holds no samples.
    NoSamples(PathBuf),
    /// So many samples, none of which says whether it loads or stores.
    NotOfMemory(PathBuf, u64),
}

impl std::error::Error for NotRead {}

impl std::fmt::Display for NotRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(path, why) => write!(f, "{}: {why}", path.display()),
            Self::NoPerf(path, why) => {
                let path = path.display();
                write!(
                    f,
                    "{path}: perf, which prints its samples, cannot be run: {why}; where it is installed, write them \
                     to a file by `perf script -i {path} --show-mmap-events --ns -F {FIELDS}`, and give that"
                )
            }
            Self::Refused(path, words) => write!(f, "{}: perf script: {words}", path.display()),
            Self::NoSamples(path) => {
                write!(f, "{}: no memory samples, as `perf script -F {FIELDS}` prints them", path.display())
            }
            Self::NotOfMemory(path, samples) => write!(
                f,
                "{}: none of {samples} samples says whether it loads or stores: record them by `perf mem record` or \
                 `perf c2c record`",
                path.display()
            ),
        }
    }
}

/// Tells the lines of which perf has recorded samples: of its own file, or of what `perf script` has printed.
///
/// # Errors
/// [`NotRead`] if there are no such samples.
pub fn recorded_by_perf(path: &Path) -> Result<Share, NotRead> {
    let samples = read(path)?;
    if samples.items.is_empty() && samples.unknown > 0 {
        return Err(NotRead::NotOfMemory(path.into(), samples.unknown));
    }
    if samples.items.is_empty() {
        return Err(NotRead::NoSamples(path.into()));
    }
    let total = ShareTotal { why_not: Some(WHY_NO_TOTAL.into()), ..ShareTotal::default() };
    let mut share = Share { command: Vec::from_iter(samples.program()), total, ..Share::default() };
    share.method =
        Method { description: DESCRIPTION.into(), date: Some(date()), passes: 1, ..Method::default() };
    let told = [
        ("samples", json!(samples.items.len())),
        ("samples_without_access", json!(samples.unknown)),
        ("samples_lost", json!(samples.lost)),
    ];
    share.method.parameters = told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut recordings = Recordings::default();
    let mut reader = Reader::new(&mut recordings.files);
    samples.modules().into_iter().chain(samples.items).for_each(|item| reader.add(item));
    let recorded = Recorded { all: vec![reader.done(true)], one: Vec::new() };
    let found = lines(&recorded, &recordings.files, &share.total);
    share.lines = Some(found.into_iter().map(|found| found.line).collect());
    Ok(share)
}

fn read(path: &Path) -> Result<Samples, NotRead> {
    let io = |why| NotRead::Io(path.into(), why);
    let mut file = File::open(path).map_err(io)?;
    let mut first = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut first).map_err(io)?;
    if first != MAGIC {
        // What was read of a pipe cannot be read again.
        let rest: Box<dyn BufRead> = match file.rewind() {
            Ok(()) => Box::new(BufReader::new(file)),
            Err(_) => Box::new(BufReader::new(io::Cursor::new(first).chain(file))),
        };
        return Samples::read(rest).map_err(io);
    }
    let mut perf = Command::new("perf")
        .args(["script", "--show-mmap-events", "--ns", "-F", FIELDS, "-i"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| NotRead::NoPerf(path.into(), why))?;
    let mut errors = perf.stderr.take();
    // It may print more warnings than a pipe holds before it ends.
    let words = std::thread::spawn(move || {
        let mut words = String::new();
        let read = errors.as_mut().map(|errors| errors.take(1 << 16).read_to_string(&mut words));
        if let (Some(Ok(_)), Some(mut errors)) = (read, errors) {
            let _ = io::copy(&mut errors, &mut io::sink());
        }
        words
    });
    let samples = perf.stdout.take().map(|out| Samples::read(BufReader::new(out)));
    let status = perf.wait().map_err(io)?;
    let words = words.join().unwrap_or_default();
    match samples {
        Some(samples) if status.success() => samples.map_err(io),
        _ => Err(NotRead::Refused(path.into(), words.lines().next().unwrap_or("it failed").to_owned())),
    }
}
