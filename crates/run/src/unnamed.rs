//! Files in memory.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// A new file in memory, which is gone with its last user; `/proc` shows the name.
///
/// # Errors
/// The operating system's.
pub(crate) fn file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a zero. glibc has `memfd_create` only from 2.27 on.
    let file = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it has just been opened, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(file as i32) })
}
