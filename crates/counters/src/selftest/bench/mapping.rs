//! Memory for the work.

use std::ptr::NonNull;

use super::arch;
use crate::Error;

const HUGE: usize = 2 << 20;

/// Zeroed pages; huge ones from 2 MiB on, if the kernel has them, so that address translation does not add misses.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    mapped: (NonNull<u8>, usize),
}

impl Mapping {
    pub(super) fn new(bytes: usize) -> Result<Self, Error> {
        let huge = bytes >= HUGE;
        let length = bytes + if huge { HUGE } else { 0 };
        // SAFETY: a new private mapping, at an address that the kernel chooses.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(Error::last("mmap"));
        }
        let mapping = NonNull::new(mapping.cast::<u8>()).expect("mmap does not map page 0 unasked");
        let offset = if huge { mapping.as_ptr().align_offset(HUGE) } else { 0 };
        // SAFETY: `offset` is below HUGE, which was added to the length.
        let start = unsafe { mapping.add(offset) };
        if huge {
            // SAFETY: within the mapping; the advice changes no contents, and small pages work as well.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        Ok(Self { start, bytes, mapped: (mapping, length) })
    }

    /// The first byte, at the start of a page.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The byte at an offset.
    ///
    /// # Panics
    /// If it lies outside.
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.bytes);
        // SAFETY: within the mapping, as just checked.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing refers to it any more.
        unsafe { libc::munmap(self.mapped.0.as_ptr().cast(), self.mapped.1) };
    }
}

/// Instructions that do nothing, and a return.
#[derive(Debug)]
pub(super) struct Sled(Mapping);

impl Sled {
    /// A sled of this many bytes; written first, executable afterwards, never both.
    pub(super) fn new(bytes: usize) -> Result<Self, Error> {
        let mapping = Mapping::new(bytes)?;
        let (nop, ret) = (arch::NOP, arch::RETURN);
        let nops = bytes - ret.len();
        for offset in (0..nops).step_by(nop.len()) {
            // SAFETY: within the mapping, which is writable and not shared yet.
            unsafe { mapping.at(offset).cast().write(nop) };
        }
        // SAFETY: the last bytes of the mapping.
        unsafe { mapping.at(nops).cast().write(ret) };
        arch::publish(mapping.start(), bytes);
        // SAFETY: pages of this mapping only, which nothing writes from here on.
        let result = unsafe {
            libc::mprotect(mapping.start().as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_EXEC)
        };
        if result != 0 {
            return Err(Error::last("mprotect (executable memory for the instruction cache's self-test)"));
        }
        Ok(Self(mapping))
    }

    pub(super) fn run(&self) {
        // SAFETY: the mapping holds a whole function that takes and returns nothing, and is executable.
        unsafe { std::mem::transmute::<*mut u8, extern "C" fn()>(self.0.start().as_ptr())() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_mappings_are_aligned_for_large_pages() {
        for bytes in [4096, HUGE, 4 * HUGE] {
            let mapping = Mapping::new(bytes).unwrap();
            assert_eq!(mapping.start().as_ptr().align_offset(bytes.min(HUGE)), 0);
            // SAFETY: the mapping's own last byte.
            assert_eq!(unsafe { mapping.at(bytes - 1).read() }, 0);
        }
        assert!(Mapping::new(usize::MAX / 4).is_err());
    }

    #[test]
    fn a_sled_returns() {
        Sled::new(64 << 10).unwrap().run();
    }
}
