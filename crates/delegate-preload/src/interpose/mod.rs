//! Functions that stand before the C library's of the same names.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod drain;
pub mod files;
mod memory;
pub mod paths;
mod process;
mod rights;
mod telling;
mod threads;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod vfork;

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub use drain::seek_within;
use libc::{c_int, c_long};
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub use process::close_within;

/// Defines functions that stand before the C library's, and in `within` the same ones that no other library can stand
/// before: for the C library's own calls.
macro_rules! standing_before {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty { $($body:tt)* })+) => {
        $(
            /// Stands before the C library's function of this name.
            ///
            /// # Safety
            /// As the C library's.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
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
