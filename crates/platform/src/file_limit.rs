//! The limit on a file's size (`ulimit -f`): makes a write beyond it fail instead of ending the process.

use std::io;

/// Does nothing: the write that has caused the signal fails with EFBIG.
extern "C" fn pass(_: libc::c_int) {}

/// From now on a write beyond the limit is an error, so that an unfinished file can be removed; SIGXFSZ would leave it
/// behind. A signal that is ignored stays ignored.
///
/// The signal is caught rather than ignored: `exec` restores the default action of a caught signal, so that programs
/// which this process starts find what they expect.
///
/// # Errors
/// The operating system's error, if it refuses the handler.
pub fn as_errors() -> io::Result<()> {
    // SAFETY: a zeroed sigaction is a valid one, and `pass` does nothing.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &raw mut action) == 0
            && (action.sa_sigaction != libc::SIG_DFL || {
                action.sa_sigaction = pass as *const () as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut()) == 0
            })
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
