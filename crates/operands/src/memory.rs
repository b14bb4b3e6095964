//! Reading memory that may not be there.

use crate::Memory;

const PAGE: u64 = 4096;

/// Bytes that are read at once and kept.
const BLOCK: usize = 64;
/// Blocks that are kept.
const KEPT: usize = 4;

/// A process's memory, as the kernel reads it: an address that is not mapped is no fault. The blocks that were read
/// last are kept, as each way into the kernel takes its time.
#[derive(Debug)]
pub struct ProcessMemory {
    thread: libc::pid_t,
    blocks: [(u64, [u8; BLOCK]); KEPT],
    next: usize,
}

impl ProcessMemory {
    /// That of the process which this thread is of. A process whose first thread has ended has no memory under that
    /// one's number.
    pub fn of(thread: u32) -> Self {
        Self { thread: thread as libc::pid_t, blocks: [(u64::MAX, [0; BLOCK]); KEPT], next: 0 }
    }

    fn read_now(&mut self, address: u64, to: &mut [u8]) -> usize {
        let here = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        // The kernel reads whole parts: two, if the second page might be missing.
        let first = to.len().min((PAGE - address % PAGE) as usize);
        let part =
            |from: u64, bytes: usize| libc::iovec { iov_base: from as *mut libc::c_void, iov_len: bytes };
        let there = [part(address, first), part(address.wrapping_add(first as u64), to.len() - first)];
        let parts: u64 = if first < to.len() { 2 } else { 1 };
        let (here, there) = (&raw const here, there.as_ptr());
        // SAFETY: the local part is `to`; others are the kernel's to check. By number: glibc has the function only from 2.15
        // on. All arguments are whole words, as the last one goes by the stack.
        let read = unsafe {
            libc::syscall(libc::SYS_process_vm_readv, self.thread, here, 1_u64, there, parts, 0_u64)
        };
        usize::try_from(read).unwrap_or(0)
    }
}

impl Memory for ProcessMemory {
    fn read(&mut self, address: u64, to: &mut [u8]) -> usize {
        let offset = (address % BLOCK as u64) as usize;
        if offset + to.len() > BLOCK {
            return self.read_now(address, to);
        }
        let start = address - offset as u64;
        let known = self.blocks.iter().position(|(of, _)| *of == start);
        let at = known.unwrap_or_else(|| {
            let mut bytes = [0; BLOCK];
            let is_read = self.read_now(start, &mut bytes) == BLOCK;
            self.next = (self.next + 1) % KEPT;
            self.blocks[self.next] = (if is_read { start } else { u64::MAX }, bytes);
            self.next
        });
        if self.blocks[at].0 != start {
            return 0;
        }
        to.copy_from_slice(&self.blocks[at].1[offset..offset + to.len()]);
        to.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_up_to_the_page_that_is_not() {
        // SAFETY: a mapping of its own, whose second page is given back.
        let last = unsafe {
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages =
                libc::mmap(std::ptr::null_mut(), 8192, libc::PROT_READ | libc::PROT_WRITE, kind, -1, 0);
            libc::munmap(pages.add(4096), 4096);
            pages.add(4092).cast::<[u8; 4]>().write(*b"coho");
            pages as u64 + 4092
        };
        let mut own = ProcessMemory::of(std::process::id());
        let mut bytes = [0; 8];
        assert_eq!((own.read(last, &mut bytes), &bytes[..4]), (4, &b"coho"[..]));
        assert_eq!(own.read(last, &mut bytes[..4]), 4);
        assert_eq!(own.read(last + 4, &mut bytes), 0);
        assert_eq!(own.read(u64::MAX - 3, &mut bytes), 0);
    }
}
