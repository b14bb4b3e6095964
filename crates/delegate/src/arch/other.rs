//! By the C library.

/// Returns what the kernel returns: a negative number from -4095 on is an error.
///
/// # Safety
/// As the call's.
pub(crate) unsafe fn system_call(number: u32, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller's promises are handed on.
    match unsafe { libc::syscall(number as libc::c_long, a, b, c, d, e, f) } {
        -1 => -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize),
        result => result as isize,
    }
}

/// No instruction for it is known.
pub(crate) fn prefetch(_: *const u8) {}
