//! Environment variables that a preloaded library obeys.

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    /// The C library's: null in a program that runs with more rights than its user.
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

/// Whether the program runs with more rights than its user (set-user-id, file capabilities). A preloaded library then does
/// nothing.
pub fn is_privileged() -> bool {
    // SAFETY: the call only looks up a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// A variable's value; `None` if it is not set, or the program [runs with more rights than its user](is_privileged). It
/// stays valid until somebody changes the environment.
pub fn setting(name: &CStr) -> Option<&[u8]> {
    // SAFETY: a string that ends with a zero.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: if not null, a string of the environment.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found() {
        assert!(!is_privileged());
        assert!(setting(c"PATH").is_some_and(|path| !path.is_empty()));
        assert_eq!(setting(c"A variable that nobody sets"), None);
    }
}
