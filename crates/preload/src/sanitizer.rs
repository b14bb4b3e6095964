//! Lets programs with AddressSanitizer run with a preloaded library.

use std::ffi::{CStr, c_char};

/// AddressSanitizer's runtime asks for options by this function, unless the program has one. It insists on being the
/// first of the libraries, so that its functions are called first. Those of coho's libraries hand calls on to it.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    const OPTIONS: &CStr = c"verify_asan_link_order=0";
    OPTIONS.as_ptr()
}
