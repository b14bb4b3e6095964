//! The kernel's files, below a root that tests may choose.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use coho_topology::CpuSet;

/// No file that is read here is longer.
const LONGEST: u64 = 1 << 16;
/// Where the CPUs' folders lie.
pub(super) const CPUS: &str = "sys/devices/system/cpu";

/// A tree with `sys`, `dev` and `run`: the system's own, or a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// A tree in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// A path of the tree.
    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }

    /// The contents of a file as they are, or what is wrong with it.
    pub(super) fn read(&self, path: &str) -> Result<String, String> {
        let path = self.path(path);
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        read.map(|_| text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The same without the blanks around it.
    pub(super) fn trimmed(&self, path: &str) -> Result<String, String> {
        self.read(path).map(|text| text.trim().to_owned())
    }

    /// A number in a file.
    pub(super) fn number(&self, path: &str) -> Result<u64, String> {
        let text = self.trimmed(path)?;
        text.parse().map_err(|_| format!("{}: '{text}' is not a number", self.path(path).display()))
    }

    /// Replaces a file's contents. It must be there and be no link.
    pub(super) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).truncate(true).custom_flags(libc::O_NOFOLLOW);
        options.open(self.path(path))?.write_all(text.as_bytes())
    }

    /// Whether a file may be written, as the kernel sees it.
    pub(super) fn is_writable(&self, path: &str) -> bool {
        use std::os::unix::ffi::OsStrExt;
        CString::new(self.path(path).as_os_str().as_bytes()).is_ok_and(|path| {
            // SAFETY: a string that ends with a zero.
            unsafe { libc::access(path.as_ptr(), libc::W_OK) == 0 }
        })
    }

    /// The numbers behind a name's beginning in a folder, ascending: the CPUs of `cpu0`, `cpu1`, …
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// CPUs that have a folder, of those asked for.
    pub(super) fn cpus(&self, only: Option<&CpuSet>) -> Vec<u32> {
        let mut cpus = self.numbered(CPUS, "cpu");
        cpus.retain(|&cpu| only.is_none_or(|only| only.contains(cpu)));
        cpus
    }
}
