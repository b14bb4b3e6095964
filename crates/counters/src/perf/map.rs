//! The mapping of an event's first page.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};

use super::page::Page;
use crate::Error;

/// An event's page, unmapped when dropped.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) page: Page,
    bytes: usize,
}

impl Map {
    pub(super) fn of(event: BorrowedFd<'_>) -> Result<Self, Error> {
        // SAFETY: a query without arguments in memory.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address =
            unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return Err(Error::last("mmap of a perf event"));
        }
        let page = NonNull::new(address).ok_or(Error::Invalid("a perf event was mapped at 0"))?;
        // SAFETY: the kernel keeps a perf_event_mmap_page at the start of the mapping, which lives as long as `self`.
        Ok(Self { page: unsafe { Page::at(page) }, bytes })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `of` and is not used after `self`.
        unsafe { libc::munmap(self.page.as_ptr(), self.bytes) };
    }
}
