//! What of the calling thread is put back behind the library's work, and whether a handler is at work.

use std::ptr;

use coho_delegate::Request;
use libc::c_int;

/// The calling thread's signals, blocked until this is dropped.
pub struct Blocked(u64);

impl Blocked {
    pub fn all() -> Self {
        let mut before = 0;
        Self::set(&u64::MAX, &raw mut before);
        Self(before)
    }

    fn set(mask: &u64, before: *mut u64) {
        let arguments =
            [libc::SIG_SETMASK as usize, ptr::from_ref(mask) as usize, before as usize, size_of::<u64>()];
        let [a, b, c, d] = arguments;
        // SAFETY: the kernel reads a set of 8 bytes, and writes one where there is room for it.
        unsafe { Request::system(libc::SYS_rt_sigprocmask, [a, b, c, d, 0, 0]).execute() };
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        Self::set(&self.0, ptr::null_mut());
    }
}

/// The calling thread's `errno`, put back when this is dropped: to start a host changes it. What waits enters the kernel without it.
pub struct Errno(c_int);

impl Errno {
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

/// The calling thread is not cancelled until this is dropped: to join a thread is a cancellation point.
pub struct NotCancelled(c_int);

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

impl NotCancelled {
    pub fn now() -> Self {
        const DISABLED: c_int = 1;
        let mut before = 0;
        // SAFETY: the call writes there alone.
        unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
        Self(before)
    }
}

impl Drop for NotCancelled {
    fn drop(&mut self) {
        // SAFETY: the state that the thread had.
        unsafe { pthread_setcancelstate(self.0, ptr::null_mut()) };
    }
}

/// A handler runs with its own signal blocked, at least.
pub fn may_be_handler() -> bool {
    let mut blocked = 0u64;
    let at = (&raw mut blocked) as usize;
    // SAFETY: the kernel writes the set, of 8 bytes.
    let asked = unsafe { Request::system(libc::SYS_rt_sigprocmask, [0, 0, at, 8, 0, 0]).execute() };
    asked.result().is_err() || blocked != 0
}
