//! Functions that stand before the C library's of the same names.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod drain;
mod files;
mod paths;
mod process;
mod rights;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod vfork;

use libc::{c_int, c_long};

/// The C library's way to return what the kernel says.
fn give(answer: isize) -> c_long {
    if (-4095..0).contains(&answer) {
        // SAFETY: the calling thread's own.
        unsafe { *libc::__errno_location() = -answer as c_int };
        return -1;
    }
    answer as c_long
}

/// Returns an error.
fn fail(number: c_int) -> c_long {
    give(-(number as isize))
}

fn argument(number: c_int) -> usize {
    number as isize as usize
}
