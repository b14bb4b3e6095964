//! Small files in a directory, each read with one open and one read, as sysfs hands them out.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{CpuSet, Error};

/// A CPU list of every second CPU of the most CPUs supported is shorter.
const MAX_BYTES: usize = 256 << 10;
/// sysfs answers at most a page at a time.
const PAGE: usize = 4096;

/// A directory of the tree.
pub(super) struct Dir {
    path: PathBuf,
}

impl Dir {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn sub(&self, name: &str) -> Self {
        Self { path: self.path.join(name) }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The text of a file, blanks trimmed; `None` if there is no such file.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let path = self.path(name);
        match bounded(&path, MAX_BYTES)? {
            Some(text) if text.len() == MAX_BYTES => {
                Err(Error::new(format!("larger than any file of sysfs ({MAX_BYTES} bytes)")).in_file(&path))
            }
            text => Ok(text.map(|text| text.trim().to_owned())),
        }
    }

    /// A number; `None` if there is no such file.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error> {
        let parse = |text: String| {
            text.parse().map_err(|_| {
                Error::new(format!("'{}' is no number in range", short(&text))).in_file(&self.path(name))
            })
        };
        self.text(name)?.map(parse).transpose()
    }

    /// An id; `None` if there is no such file or it says -1, the kernel's "unknown".
    pub(super) fn id(&self, name: &str) -> Result<Option<u32>, Error> {
        match self.number::<i64>(name)? {
            None | Some(-1) => Ok(None),
            Some(id) => u32::try_from(id)
                .map(Some)
                .map_err(|_| Error::new(format!("'{id}' is no id")).in_file(&self.path(name))),
        }
    }

    /// A list of CPUs; `None` if there is no such file.
    pub(super) fn cpu_list(&self, name: &str) -> Result<Option<CpuSet>, Error> {
        self.text(name)?
            .map(|text| text.parse().map_err(|error: Error| error.in_file(&self.path(name))))
            .transpose()
    }

    /// The first of several names of a list of CPUs that exists; the kernel has renamed some.
    pub(super) fn cpu_list_of(&self, names: &[&'static str]) -> Result<Option<CpuSet>, Error> {
        for name in names {
            if let Some(list) = self.cpu_list(name)? {
                return Ok(Some(list));
            }
        }
        Ok(None)
    }

    /// The numbers N, ascending, for which there is an entry `prefixN`.
    pub(super) fn numbered(&self, prefix: &str, limit: u32) -> Result<Vec<u32>, Error> {
        let mut numbers = Vec::new();
        let failed = |error: std::io::Error| Error::io(&self.path, &error);
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let Some(digits) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else { continue };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            match digits.parse() {
                Ok(number) if number < limit => numbers.push(number),
                _ => {
                    let message = format!("beyond the largest supported, {prefix}{}", limit - 1);
                    return Err(Error::new(message).in_file(&self.path.join(&name)));
                }
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
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
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Error::io(path, &error)),
    }
}

fn read_start(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
    // Non-blocking, so that a pipe in a hostile tree cannot hold us.
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
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
