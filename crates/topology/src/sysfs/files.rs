//! Small files in a directory, each read with one open and one read, as sysfs serves them.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use coho_platform::InvalidCpus;

use crate::{CpuSet, Error, mask};

/// Longer than a list of every second CPU at the largest supported number of CPUs.
const MAX_BYTES: usize = 256 << 10;
/// sysfs answers at most a page at a time.
const PAGE: usize = 4096;
/// A tree whose files are all broken does not need a line for each.
const MOST_NOTES: usize = 16;

/// What could not be read or believed; the rest of the tree is read nevertheless.
#[derive(Default)]
pub(super) struct Notes {
    notes: RefCell<Vec<Error>>,
}

impl Notes {
    pub(super) fn add(&self, note: Error) {
        self.notes.borrow_mut().push(note);
    }

    pub(super) fn first(&self) -> Option<Error> {
        self.notes.borrow().first().cloned()
    }

    pub(super) fn finish(self) -> Vec<String> {
        let mut notes: Vec<String> = self.notes.into_inner().iter().map(ToString::to_string).collect();
        if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
            notes.truncate(MOST_NOTES);
            notes.push(format!("{more} more files could not be read or believed"));
        }
        notes
    }
}

/// A set of CPUs in the two forms that the kernel writes; kernels before 2.6.26 write only the mask.
pub(super) struct Told {
    /// `0-3,8`.
    pub(super) list: Option<CpuSet>,
    /// `00000000,0000010f`.
    pub(super) map: Option<CpuSet>,
}

impl Told {
    /// Without the forms that hold no CPU.
    pub(super) fn unless_empty(self) -> Self {
        let full = |set: &CpuSet| !set.is_empty();
        Self { list: self.list.filter(full), map: self.map.filter(full) }
    }

    /// Whether no form tells another CPU.
    pub(super) fn is_alone(&self, cpu: u32) -> bool {
        let alone = |set: &CpuSet| *set == CpuSet::from_iter([cpu]);
        self.list.iter().chain(&self.map).all(alone)
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.list.is_none() && self.map.is_none()
    }
}

/// A directory of the tree.
#[derive(Clone)]
pub(super) struct Dir<'a> {
    path: PathBuf,
    notes: &'a Notes,
}

impl<'a> Dir<'a> {
    pub(super) fn new(path: PathBuf, notes: &'a Notes) -> Self {
        Self { path, notes }
    }

    pub(super) fn sub(&self, name: &str) -> Self {
        Self { path: self.path.join(name), notes: self.notes }
    }

    /// Another directory, with the same notes.
    pub(super) fn at(&self, path: PathBuf) -> Self {
        Self { path, notes: self.notes }
    }

    /// A file in it, or the directory itself if the name is empty.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    pub(super) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Notes what is wrong with a file.
    pub(super) fn note(&self, name: &str, message: impl Into<String>) {
        self.notes.add(Error::new(message).in_file(&self.path(name)));
    }

    /// A value, or a note of why a file has none.
    fn noted<T>(&self, name: &str, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.notes.add(error.in_file(&self.path(name)))).ok()
    }

    /// The text of a file up to its first NUL, blanks trimmed; `None` if it cannot be read.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.noted(name, bounded(&self.path(name), MAX_BYTES))??;
        if text.len() == MAX_BYTES {
            self.note(name, format!("larger than any file of sysfs ({MAX_BYTES} bytes)"));
            return None;
        }
        let text = text.split('\0').next().unwrap_or_default();
        Some(text.trim().to_owned())
    }

    /// A number; `None` if it cannot be read.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        let parsed =
            text.parse().map_err(|_| Error::new(format!("'{}' is not a number in range", short(&text))));
        self.noted(name, parsed)
    }

    /// An id; `None` if it cannot be read or is -1, the kernel's "unknown".
    pub(super) fn id(&self, name: &str) -> Option<u32> {
        let id = self.number::<i64>(name).filter(|id| *id != -1)?;
        self.noted(name, u32::try_from(id).map_err(|_| Error::new(format!("'{id}' is not an id"))))
    }

    /// The set in the first of these files that can be read and is not empty; otherwise an empty one, or `None` if none
    /// can be read.
    pub(super) fn cpus(&self, lists: &[&str], maps: &[&str]) -> Option<CpuSet> {
        let told = self.told(lists, maps);
        let full = |set: &CpuSet| !set.is_empty();
        let list_or_map = told.list.clone().filter(full).or_else(|| told.map.clone().filter(full));
        list_or_map.or(told.list).or(told.map)
    }

    /// The set as a list and as a mask, each from the first file that can be read.
    pub(super) fn told(&self, lists: &[&str], maps: &[&str]) -> Told {
        let list = |name: &&str| {
            let set = self.text(name)?.parse().map_err(|error: InvalidCpus| Error::from(error));
            self.noted(name, set)
        };
        let map = |name: &&str| {
            let text = self.text(name).filter(|text| !text.is_empty())?;
            self.noted(name, mask::parse(&text))
        };
        Told { list: lists.iter().find_map(list), map: maps.iter().find_map(map) }
    }

    /// The numbers N below a limit, ascending, for which there is an entry `prefixN`.
    pub(super) fn numbered(&self, prefix: &str, limit: u32) -> Vec<u32> {
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) => {
                if !is_absent(&error) {
                    self.notes.add(Error::io(&self.path, &error));
                }
                return Vec::new();
            }
        };
        let mut numbers = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let Some(digits) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else { continue };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            match digits.parse() {
                Ok(number) if number < limit => numbers.push(number),
                _ => {
                    let message = format!("beyond the largest supported, {prefix}{}", limit - 1);
                    self.note(&format!("{prefix}{digits}"), message);
                }
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The first `limit` bytes of a file as text; `None` if there is no such file.
pub(super) fn bounded(path: &Path, limit: usize) -> Result<Option<String>, Error> {
    match read_start(path, limit) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.utf8_error().error_len().is_none() => {
                Ok(Some(String::from_utf8_lossy(error.as_bytes()).into_owned()))
            }
            Err(_) => Err(Error::new("not a text file (no UTF-8)").in_file(path)),
        },
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Error::io(path, &error)),
    }
}

fn read_start(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
    // Non-blocking, so that a pipe in a hostile tree cannot block this process.
    let mut file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let mut page = [0; PAGE];
    let mut bytes = Vec::new();
    loop {
        let wanted = PAGE.min(limit - bytes.len());
        let got = file.read(&mut page[..wanted])?;
        bytes.extend_from_slice(&page[..got]);
        if got < PAGE || bytes.len() == limit {
            return Ok(bytes);
        }
    }
}

/// The start of a text that an error quotes.
pub(super) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
