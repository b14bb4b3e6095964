//! Where threads run, as programs ask for it.

use std::ffi::{CStr, c_char, c_int};
use std::slice;

use crate::affinity::{Dialect, capture, capture_blank, dialect, display};
use crate::here::here;

/// # Safety
/// A string or null.
unsafe fn string<'a>(format: *const c_char) -> &'a [u8] {
    // SAFETY: as the caller promises.
    if format.is_null() { &[] } else { unsafe { CStr::from_ptr(format) }.to_bytes() }
}

/// # Safety
/// A string of Fortran's, of this length.
unsafe fn blank_string<'a>(format: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    let text = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(format, length) } };
    text.iter().position(|&one| one == 0).map_or(text, |end| &text[..end])
}

pub unsafe extern "C" fn display_affinity(format: *const c_char) {
    // SAFETY: the program's string.
    display(unsafe { string(format) }, dialect(), here());
}

pub unsafe extern "C" fn capture_affinity(buffer: *mut u8, room: usize, format: *const c_char) -> usize {
    // SAFETY: the program's string, and its room.
    unsafe { capture((buffer, room), string(format), dialect(), here()) }
}

/// What C programs for LLVM's runtime call.
pub unsafe extern "C" fn display_affinity_for_llvm(format: *const c_char) {
    // SAFETY: as above.
    display(unsafe { string(format) }, Dialect::Llvm, here());
}

pub unsafe extern "C" fn capture_affinity_for_llvm(
    buffer: *mut u8,
    room: usize,
    format: *const c_char,
) -> usize {
    // SAFETY: as above.
    unsafe { capture((buffer, room), string(format), Dialect::Llvm, here()) }
}

pub unsafe extern "C" fn display_affinity_(format: *const u8, length: usize) {
    // SAFETY: as above.
    display(unsafe { blank_string(format, length) }, dialect(), here());
}

pub unsafe extern "C" fn capture_affinity_(
    buffer: *mut u8,
    format: *const u8,
    room: usize,
    length: usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { capture_blank((buffer, room), blank_string(format, length), dialect(), here()) }
}
