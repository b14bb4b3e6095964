//! The functions that a preloaded library stands before.

use std::ffi::{CStr, c_void};

/// The function of this name in the libraries after this one; null if there is none.
///
/// A library that the program opens later by itself, for itself alone (`dlopen` with `RTLD_LOCAL`), is not found.
pub fn real(name: &CStr) -> *mut c_void {
    // SAFETY: a string that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Has the child of each `fork` from now on call a function, which may do what a signal handler may. Without memory for
/// it, nothing is called.
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
