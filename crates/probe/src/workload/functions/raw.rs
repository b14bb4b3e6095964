//! System calls as a program of one thread makes them. A copy of a process that had threads still looks for a thread's
//! cancellation around each of the C library's functions that can wait, which costs a sixth of a short one's time; a
//! program of UnixBench has no threads, and does not.

use std::io;

/// What a call that moves bytes returned.
fn moved(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// `read`.
pub(super) fn read(descriptor: i32, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as many bytes as the buffer has.
    moved(unsafe { libc::syscall(libc::SYS_read, descriptor, buffer.as_mut_ptr(), buffer.len()) })
}

/// `write`.
pub(super) fn write(descriptor: i32, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the kernel reads at most as many bytes as there are.
    moved(unsafe { libc::syscall(libc::SYS_write, descriptor, bytes.as_ptr(), bytes.len()) })
}

/// `close`, whatever comes of it.
pub(super) fn close(descriptor: i32) {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_close, descriptor) };
}
