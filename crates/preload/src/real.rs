//! The functions that a preloaded library replaces.

use std::ffi::{CStr, c_void};

/// The function of this name in the libraries after this one; null if there is none.
///
/// Functions of a library that the program opens later with `RTLD_LOCAL` are not found.
pub fn real(name: &CStr) -> *mut c_void {
    // SAFETY: a string that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// From now on, the child of each `fork` calls a function, which may do only what a signal handler may. If there is no
/// memory to register it, nothing is called.
pub fn on_fork(in_child: unsafe extern "C" fn()) {
    // SAFETY: the function lives as long as the library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_there_is() {
        assert!(!real(c"pthread_create").is_null());
        assert!(real(c"no_library_has_this").is_null());
    }
}
