//! Tries code that might end the process in a copy of it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use coho_platform::timer;

/// What a copy reports that has finished without an error.
const WELL: &str = "well";

/// Whether some work returns without an error in a copy of this process, within a time limit. Its output to the
/// standard streams is dropped.
///
/// The copy has only the calling thread: a lock that another thread holds stays locked in it, and then the time runs
/// out.
pub(super) fn survives(work: impl FnOnce() -> Result<(), String>, limit: Duration) -> Result<(), String> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(format!("pipe: {}", io::Error::last_os_error()));
    }
    // SAFETY: the kernel has just given us both.
    let [mut from, to] = ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) }));
    // SAFETY: the copy runs the work and ends without returning.
    match unsafe { libc::fork() } {
        -1 => Err(format!("fork: {}", io::Error::last_os_error())),
        0 => copy(work, to, limit),
        child => {
            drop(to);
            let mut said = String::new();
            let read = from.read_to_string(&mut said);
            // SAFETY: `child` is ours and not waited for before; it ends by its own timer at the latest.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            match (read, said.as_str()) {
                (Err(error), _) => Err(error.to_string()),
                (Ok(_), WELL) => Ok(()),
                (Ok(_), "") => {
                    Err(format!("it ended the process, or took more than {limit:?}, when it was tried"))
                }
                (Ok(_), why) => Err(why.into()),
            }
        }
    }
}

fn copy(work: impl FnOnce() -> Result<(), String>, mut to: File, limit: Duration) -> ! {
    if timer::die_after(limit).is_ok() {
        if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
            for stream in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
                // SAFETY: both descriptors are this process's own.
                unsafe { libc::dup2(nowhere.as_raw_fd(), stream) };
            }
        }
        let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it panicked".into()));
        let said = outcome.err().unwrap_or_else(|| WELL.into());
        // If the parent no longer listens, the result is not needed.
        let _ = to.write_all(said.as_bytes());
    }
    // SAFETY: ends the copy without what the parent has registered for its own end.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_how_work_ended() {
        let long = Duration::from_secs(60);
        assert_eq!(survives(|| Ok(()), long), Ok(()));
        assert_eq!(survives(|| Err("no".into()), long), Err("no".into()));
        // SAFETY: ends the copy.
        let gone = survives(|| unsafe { libc::_exit(3) }, long).unwrap_err();
        assert!(gone.contains("ended the process"), "{gone}");
        let endless = || loop {
            std::hint::spin_loop();
        };
        let late = survives(endless, Duration::from_millis(50)).unwrap_err();
        assert!(late.contains("50ms"), "{late}");
    }
}
