//! The calling thread's `errno`.

use libc::c_int;

/// The calling thread's `errno`, put back when this is dropped: a function that succeeds leaves it alone.
#[derive(Debug)]
pub struct Errno(c_int);

impl Errno {
    /// As it is now.
    pub fn kept() -> Self {
        // SAFETY: the calling thread's own.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}
