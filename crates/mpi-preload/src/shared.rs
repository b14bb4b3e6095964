//! Memory that processes of one user share on a node.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::ptr::{self, NonNull};

/// A mapped file, zeros at first.
#[derive(Debug)]
pub(crate) struct Shared {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: memory; who uses it as what has its own reasons.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The file of this name, which whoever comes first creates.
    pub(crate) fn open_or_create(path: &str, bytes: usize) -> io::Result<Self> {
        Self::map(&options().create(true).open(path)?, bytes)
    }

    /// A new file of this name.
    pub(crate) fn create(path: &str, bytes: usize) -> io::Result<Self> {
        Self::map(&options().create_new(true).open(path)?, bytes)
    }

    /// The file of this name, which must be there.
    pub(crate) fn open(path: &str, bytes: usize) -> io::Result<Self> {
        Self::map(&options().open(path)?, bytes)
    }

    fn map(file: &File, bytes: usize) -> io::Result<Self> {
        let known = file.metadata()?;
        // SAFETY: no arguments.
        if !known.is_file() || known.uid() != unsafe { libc::geteuid() } || known.mode() & 0o077 != 0 {
            return Err(io::Error::other("it is not this user's alone"));
        }
        let size = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
        // A page that cannot be had would end the process when it is touched.
        // SAFETY: an open file.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size) } {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, no longer than the file.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: its own mapping.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    options
}

/// Takes a file's name away.
pub(crate) fn remove(path: &str) {
    let _ = fs::remove_file(path);
}
