//! The CPU time of another process's thread.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use libc::pid_t;

/// The kernel's count of it, which is as exact as the kernel's own ticks. The file stays open, as opening it anew takes
/// several times as long as reading it.
#[derive(Debug)]
pub(super) struct Clock(File);

impl Clock {
    pub(super) fn of(thread: pid_t) -> Option<Self> {
        File::open(format!("/proc/{thread}/task/{thread}/schedstat")).ok().map(Self)
    }

    /// Nanoseconds; `None` if it is gone.
    pub(super) fn ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let bytes = self.0.read_at(&mut text, 0).ok()?;
        str::from_utf8(&text[..bytes]).ok()?.split_ascii_whitespace().next()?.parse().ok()
    }
}

/// Whether a thread is running or ready to run.
pub(super) fn is_running(thread: pid_t) -> bool {
    let stat = fs::read(format!("/proc/{thread}/task/{thread}/stat")).unwrap_or_default();
    // A name stands in parentheses and may hold some itself.
    let state = stat.iter().rposition(|byte| *byte == b')').and_then(|end| stat.get(end + 2));
    state == Some(&b'R')
}
