//! A device's memory in this process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use coho_profile::CacheType;

use super::Region;

/// A device that is open for reading and writing.
pub(super) struct Device {
    file: File,
    path: PathBuf,
}

impl Device {
    /// Opens it, with more flags of `open(2)` if need be.
    pub(super) fn open(path: &Path, flags: libc::c_int) -> Result<Self, String> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
        file.map(|file| Self { file, path: path.into() })
            .map_err(|error| format!("{} cannot be opened: {error}", path.display()))
    }

    /// The message for a failure with this device.
    pub(super) fn failed(&self, doing: &str, error: &io::Error) -> String {
        format!("{}: {doing}: {error}", self.path.display())
    }

    /// Maps `bytes` of it from `offset` on, a multiple of the page size, shared.
    pub(super) fn map(self, offset: u64, bytes: usize) -> Result<Mapping, String> {
        let at = libc::off_t::try_from(offset)
            .map_err(|_| format!("{}: no offset {offset:#x}", self.path.display()))?;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.file.as_raw_fd(),
                at,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(self.failed(&format!("mmap of {bytes} bytes"), &io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast()).expect("mmap does not map page 0 unasked");
        Ok(Mapping { start, bytes, _device: self })
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Memory of a device, mapped as long as this lives; the device stays open meanwhile.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    _device: Device,
}

// SAFETY: the mapping belongs to this value.
unsafe impl Send for Mapping {}
// SAFETY: shared access is by raw pointer only.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// It as a region.
    ///
    /// # Safety
    /// Nothing else may use the memory, and writing to it must be safe.
    pub(super) unsafe fn into_region(self, cache_type: CacheType) -> Region {
        let (start, bytes) = (self.start, self.bytes);
        // SAFETY: mapped until it is dropped, whole pages, for reading and writing; else the caller's promise.
        unsafe { Region::from_raw(start, bytes, cache_type, self) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_writes_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        std::fs::write(&path, [7; 8192]).unwrap();
        let mapping = Device::open(&path, 0).unwrap().map(4096, 4096).unwrap();
        // SAFETY: the file is this test's own.
        let region = unsafe { mapping.into_region(CacheType::Uncached) };
        // SAFETY: the first byte of the region.
        unsafe { region.start().write_volatile(9) };
        drop(region);
        let after = std::fs::read(&path).unwrap();
        assert_eq!((after[4095], after[4096], after[4097]), (7, 9, 7));
    }

    #[test]
    fn names_the_device_that_cannot_be_had() {
        let error = Device::open(Path::new("/nowhere/card0"), 0).err().unwrap();
        assert!(error.contains("/nowhere/card0"), "{error}");
        let error = Device::open(Path::new("/dev/null"), 0).unwrap().map(0, 4096).err();
        assert!(error.unwrap().contains("/dev/null: mmap of 4096 bytes"));
    }
}
