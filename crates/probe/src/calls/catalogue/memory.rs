//! Mapping memory that is never touched.

use std::io;

use super::super::arch::syscall;
use super::super::subject::{Act, On};
use super::table::Wanted;

/// The most mappings at once: a process may have 65,530.
const MOST_MAPPED: usize = 64;
const PROTECTION: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
const NO_FILE: usize = -1isize as usize;

fn mapped(bytes: usize) -> isize {
    // SAFETY: a new private mapping, at an address that the kernel chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, PROTECTION, FLAGS, -1, 0) };
    at as isize
}

fn unmapped(at: isize, bytes: usize) -> isize {
    // SAFETY: only mappings that `mapped` returned for the same size and nobody uses are handed in.
    unsafe { libc::munmap(at as *mut libc::c_void, bytes) as isize }
}

/// mmap and munmap, one after the other.
pub(super) fn mmap(wanted: &Wanted<'_>) -> io::Result<Act> {
    let bytes = wanted.bytes;
    wanted.plain(
        move || match mapped(bytes) {
            -1 => -1,
            at => unmapped(at, bytes),
        },
        move || {
            let arguments = [0, bytes, PROTECTION as usize, FLAGS as usize, NO_FILE, 0];
            // SAFETY: a new private mapping, at an address that the kernel chooses.
            let at = unsafe { syscall(libc::SYS_mmap, arguments) };
            if at < 0 {
                return at;
            }
            // SAFETY: that mapping, which nobody has used.
            unsafe { syscall(libc::SYS_munmap, [at as usize, bytes, 0, 0, 0, 0]) }
        },
    )
}

/// Mappings of one size; 0 for one that was unmapped.
struct Mappings {
    bytes: usize,
    all: Vec<isize>,
}

impl Mappings {
    fn map_all(&mut self, calls: usize) -> io::Result<()> {
        for _ in 0..calls {
            let at = mapped(self.bytes);
            if at == -1 {
                let error = io::Error::last_os_error();
                self.unmap_rest()?;
                return Err(error);
            }
            self.all.push(at);
        }
        Ok(())
    }

    /// A mapping that a copy of the process has unmapped still exists here.
    fn unmap_rest(&mut self) -> io::Result<()> {
        for at in self.all.drain(..).filter(|&at| at != 0) {
            unmapped(at, self.bytes);
        }
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, index: usize) -> isize {
        std::mem::replace(&mut self.all[index], 0)
    }
}

/// munmap of mappings that were made before the batch.
pub(super) fn munmap(wanted: &Wanted<'_>) -> io::Result<Act> {
    let mappings = Mappings { bytes: wanted.bytes, all: Vec::with_capacity(MOST_MAPPED) };
    wanted.on(
        On::new(mappings).ready(Mappings::map_all).clean(Mappings::unmap_rest),
        MOST_MAPPED,
        |mappings, index| unmapped(mappings.take(index), mappings.bytes),
        |mappings, index| {
            // SAFETY: a mapping of this size that was made for this and nobody uses.
            unsafe { syscall(libc::SYS_munmap, [mappings.take(index) as usize, mappings.bytes, 0, 0, 0, 0]) }
        },
    )
}
