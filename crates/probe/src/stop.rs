//! The wish to stop: SIGINT and SIGTERM end an experiment early and keep what it has.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn handle(_signal: libc::c_int) {
    REQUESTED.store(true, Relaxed);
}

/// From now on the first SIGINT or SIGTERM is a request to stop; a second one ends the process.
///
/// # Errors
/// If the operating system refuses the handlers.
pub fn on_signals() -> std::io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: a zeroed sigaction is a valid one; the handler only stores to an atomic, and SA_RESETHAND gives the
        // default action back for the second signal.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        if result != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether a stop has been requested.
pub fn requested() -> bool {
    REQUESTED.load(Relaxed)
}
