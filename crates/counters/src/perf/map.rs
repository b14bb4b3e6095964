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

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use coho_testing::{Capability, needs};
    use perf_event_open_sys::bindings::perf_event_mmap_page;

    use super::super::open;
    use super::*;
    use crate::{Event, Lost, Mode};

    /// Checks what the kernel itself writes to a page, here that of an event on no hardware counter.
    #[test]
    fn the_kernel_fills_the_page() {
        needs!(Capability::PerfEvents);
        let event = open::open(&Event::page_faults(), Mode::User, None).unwrap();
        let map = Map::of(event.as_fd()).unwrap();
        open::enable(&event, 1).unwrap();
        let page = map.page.as_ptr().cast::<perf_event_mmap_page>();
        // SAFETY: the kernel's page, mapped for as long as `map` lives.
        let (lock, index, version) = unsafe {
            let lock = (&raw const (*page).lock).read_volatile();
            (
                lock,
                (&raw const (*page).index).read_volatile(),
                (&raw const (*page).compat_version).read_volatile(),
            )
        };
        assert_eq!((lock % 2, index, version), (0, 0, 0));
        assert_eq!(map.page.read(), Err(Lost::NotPermitted));
        assert_eq!(map.page.hardware_counter(), Err(Lost::NotPermitted));
    }

    #[test]
    fn what_is_no_event_has_no_page() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(matches!(Map::of(reader.as_fd()), Err(Error::System { .. })));
    }
}
