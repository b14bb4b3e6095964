//! Where instructions are not decoded.

use std::ffi::CStr;

use coho_preload::{Errno, line, setting};

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    const FILE: &CStr = c"COHO_SHARE";
    let _errno = Errno::kept();
    if setting(FILE).is_some() {
        line("share", "not available: it records programs on x86-64 with glibc alone");
    }
}
