//! System calls as a program of one thread makes them. In a copy of a process that had threads, the C library still
//! checks for cancellation around each function that can wait, which costs a sixth of the time of a short one.
//! UnixBench's programs have no threads, and no such cost.

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

/// `close`, ignoring the result.
pub(super) fn close(descriptor: i32) {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_close, descriptor) };
}
