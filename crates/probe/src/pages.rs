//! Memory whose place is known: pages of one's own, on a chosen node or by first touch.

use std::io;
use std::ptr::NonNull;

use crate::Error;

/// Size of a small page, in bytes; also where the system's pages are larger.
pub const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// Zeroed pages that nothing else uses; untouched, so that the first toucher's node becomes their home.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    bytes: usize,
    mapping: NonNull<u8>,
    mapped: usize,
}

// SAFETY: the pages are plain memory that this value owns.
unsafe impl Send for Pages {}
// SAFETY: shared access is by raw pointer or by atomics only.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps at least `bytes`; from 2 MiB on, huge pages are asked for.
    ///
    /// # Errors
    /// If there is no room.
    pub fn map(bytes: usize) -> Result<Self, Error> {
        let huge = bytes >= HUGE;
        let bytes = bytes.next_multiple_of(if huge { HUGE } else { PAGE }).max(PAGE);
        let mapped = bytes + if huge { HUGE } else { 0 };
        // SAFETY: a new private mapping, at an address that the kernel chooses.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(Error::other(format!("no room for {mapped} bytes: {}", io::Error::last_os_error())));
        }
        let mapping = NonNull::new(mapping.cast::<u8>()).expect("mmap does not map page 0 unasked");
        let offset = if huge { mapping.as_ptr().align_offset(HUGE) } else { 0 };
        // SAFETY: `offset` is below HUGE, which was added to the size.
        let start = unsafe { mapping.add(offset) };
        if huge {
            // SAFETY: the range lies within the mapping; the advice changes no contents, and small pages will do.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        Ok(Self { start, bytes, mapping, mapped })
    }

    /// Address of the first byte, aligned to a page.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the pages live on this memory node, once they are touched.
    ///
    /// # Errors
    /// If the operating system refuses: no such node, no rights in this container.
    pub fn bind(&self, node: u32) -> Result<(), Error> {
        const MPOL_BIND: libc::c_int = 2;
        let mut mask = vec![0u64; node as usize / 64 + 1];
        mask[node as usize / 64] = 1 << (node % 64);
        // SAFETY: the mask holds as many bits as are named, and one more as the kernel counts them.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.bytes,
                MPOL_BIND,
                mask.as_ptr(),
                mask.len() * 64 + 1,
                0,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(Error::other(format!("mbind to memory node {node}: {}", io::Error::last_os_error())))
        }
    }

    /// Touches every page, on the calling thread.
    pub fn touch(&self) {
        for offset in (0..self.bytes).step_by(PAGE) {
            // SAFETY: within the mapping; nothing else uses the pages yet.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// The node on which the first page lives; `None` before it is touched or if the kernel does not tell.
    pub fn node(&self) -> Option<u32> {
        let page = self.start.as_ptr();
        let mut status: libc::c_int = -1;
        // SAFETY: one page, one status; without target nodes the call only asks.
        let result = unsafe {
            libc::syscall(libc::SYS_move_pages, 0, 1usize, &raw const page, 0usize, &raw mut status, 0)
        };
        if result == 0 { u32::try_from(status).ok() } else { None }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing refers to it any more.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_aligned_and_writable() {
        for bytes in [1, PAGE, 3 * PAGE, HUGE, 5 * HUGE + 1] {
            let pages = Pages::map(bytes).unwrap();
            assert!(pages.bytes() >= bytes);
            assert_eq!(pages.start().as_ptr().align_offset(if bytes >= HUGE { HUGE } else { PAGE }), 0);
            pages.touch();
        }
    }

    #[test]
    fn binds_where_there_is_a_node_and_says_no_where_there_is_none() {
        let pages = Pages::map(PAGE).unwrap();
        assert!(pages.bind(1000).is_err());
        // A container may forbid it; where it is allowed, the page must be there.
        if pages.bind(0).is_ok() {
            pages.touch();
            assert!(pages.node().is_none_or(|node| node == 0));
        }
    }
}
