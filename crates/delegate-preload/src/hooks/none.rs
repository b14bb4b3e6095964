//! Where no jumps are stored: the C library's own calls are not seen.

use std::ffi::{CStr, c_void};

pub fn install(_: &[(&CStr, *const ())]) {}

pub fn see_stdio() -> bool {
    false
}

pub fn original(function: *mut c_void) -> *mut c_void {
    function
}
