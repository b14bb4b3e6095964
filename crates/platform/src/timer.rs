//! A timer that ends its own process, for a process that may lose the one that watches it.

use std::io;
use std::time::Duration;

/// Makes the kernel kill this process after some time. Makes system calls only, so that it may be used after `fork`.
///
/// # Errors
/// The operating system's error, if it has no timer left.
pub fn die_after(limit: Duration) -> io::Result<()> {
    // SAFETY: zeroed values of these types are valid, and the pointers live through the calls.
    let set = unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGKILL;
        let mut timer: libc::timer_t = std::mem::zeroed();
        let mut when: libc::itimerspec = std::mem::zeroed();
        when.it_value.tv_sec = libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX);
        // A zero time would disarm it.
        when.it_value.tv_nsec = libc::c_long::from(limit.subsec_nanos().max(1) as i32);
        libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) == 0
            && libc::timer_settime(timer, 0, &when, std::ptr::null_mut()) == 0
    };
    if set { Ok(()) } else { Err(io::Error::last_os_error()) }
}
