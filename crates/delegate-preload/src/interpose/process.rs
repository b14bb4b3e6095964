//! What closes descriptors elsewhere, and what makes processes that share memory.

use libc::{FILE, c_int, c_uint};

use super::{fail, rights};
use crate::behind::{drain, take_error};
use crate::descriptors::{forget, forget_all};
use crate::real::real;
use crate::runtime;

/// Stands before the C library's function of this name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fclose(file: *mut FILE) -> c_int {
    // SAFETY: the caller's promises are handed on.
    unsafe {
        drain();
        let descriptor = libc::fileno(file);
        let error = take_error(descriptor);
        forget(descriptor);
        let result = real!(fclose(file; *mut FILE) -> c_int);
        forget(descriptor);
        error.map_or(result, |error| fail(error) as c_int)
    }
}

/// What is replaced is closed, and whatever is wrong with it nobody learns.
fn replace(from: c_int, to: c_int) {
    if from != to {
        let _ = take_error(to);
    }
    forget(to);
}

macro_rules! forgetful {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty: $before:expr;)+) => { $(
        /// Stands before the C library's function of this name.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            drain();
            $before;
            // SAFETY: the caller's promises are handed on.
            let result = unsafe { real!($name($($argument),*; $($kind),*) -> $result) };
            $before;
            result
        }
    )+ };
}

forgetful! {
    dup2(from: c_int, to: c_int) -> c_int: replace(from, to);
    dup3(from: c_int, to: c_int, flags: c_int) -> c_int: replace(from, to);
    freopen(path: *const libc::c_char, mode: *const libc::c_char, file: *mut FILE) -> *mut FILE: forget_all();
    freopen64(path: *const libc::c_char, mode: *const libc::c_char, file: *mut FILE) -> *mut FILE: forget_all();
    fcloseall() -> c_int: forget_all();
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int: forget_all();
    closefrom(first: c_int) -> (): forget_all();
}

/// Stands before the C library's function of this name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(
    number: libc::c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> libc::c_long {
    drain();
    if rights::changes_rights(number, a) {
        runtime::end();
    }
    let closes = [libc::SYS_close, libc::SYS_dup3, libc::SYS_close_range].contains(&number);
    if closes {
        forget_all();
    }
    // SAFETY: the caller's promises are handed on.
    unsafe {
        real!(syscall(number, a, b, c, d, e, f; libc::c_long, usize, usize, usize, usize, usize, usize) -> libc::c_long)
    }
}
