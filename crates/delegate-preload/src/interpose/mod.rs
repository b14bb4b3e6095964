//! Functions that stand before the C library's of the same names, and are as safe to call as those.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod drain;
mod files;
mod memory;
mod paths;
mod process;
mod telling;
mod threads;
mod unsharing;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod vfork;

use std::ffi::CStr;

use libc::{c_int, c_long};

/// The C library's functions that its own calls reach by a jump at the entry, and where that leads.
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub fn entries() -> [(&'static CStr, *const ()); 10] {
    [
        (c"write", files::within::write as *const ()),
        (c"read", files::within::read as *const ()),
        (c"close", files::within::close as *const ()),
        (c"__close_nocancel", process::close_within as *const ()),
        (c"lseek", drain::seek_within as *const ()),
        (c"lseek64", drain::seek_within as *const ()),
        (c"open", paths::within::open as *const ()),
        (c"open64", paths::within::open64 as *const ()),
        (c"openat", paths::within::openat as *const ()),
        (c"openat64", paths::within::openat64 as *const ()),
    ]
}

/// None: the C library's own calls are not seen.
#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
pub fn entries() -> [(&'static CStr, *const ()); 0] {
    []
}

/// Defines functions that stand before the C library's, and in `within` the same ones that no other library can stand
/// before: for the C library's own calls.
macro_rules! standing_before {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty { $($body:tt)* })+) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
                // SAFETY: the caller's promises are handed on.
                unsafe { within::$name($($argument),*) }
            }
        )+

        pub mod within {
            use super::*;

            $(pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result { $($body)* })+
        }
    };
}

pub(crate) use standing_before;

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
