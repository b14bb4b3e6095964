//! What a rank does for others while it waits. MPI's rule is that a call that waits makes progress: a message that this rank
//! has begun to send, or a window in which another rank works, may need it before that other rank can come.

use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::group::Group;

/// Windows that this process has open. Others may work in them as long as it waits, each step by this process's doing.
pub(crate) static WINDOWS: AtomicUsize = AtomicUsize::new(0);

/// A tag with which no message is sent.
const NO_TAG: i32 = 1;
/// How long a rank waits before it first calls MPI. Most waits are over.
const FIRST: Duration = Duration::from_micros(10);
/// The longest time between calls to MPI of a rank that has a CPU of its own, and of one that has not.
const MOST: Duration = Duration::from_micros(50);
const MOST_CROWDED: Duration = Duration::from_micros(500);

impl Group {
    /// When to begin, and what to do then.
    #[inline(always)]
    pub(crate) fn work(&self) -> (Duration, impl Fn(Duration) -> Duration) {
        (FIRST, |waited| self.progress(waited))
    }

    /// Lets MPI do what waits to be done; says when to come again.
    #[cold]
    fn progress(&self, waited: Duration) -> Duration {
        let mpi = self.mpi;
        let (mut found, ignored) = (0, mpi.abi.status_ignore as *mut c_void);
        // Nothing is found, so MPI looks everywhere.
        // SAFETY: this library's own communicator, and MPI's own value for a status that nobody reads.
        unsafe { (mpi.real.iprobe)(mpi.abi.any_source, NO_TAG, self.private, &raw mut found, ignored) };
        if WINDOWS.load(Relaxed) > 0 {
            Duration::ZERO
        } else if self.is_crowded {
            (waited / 4).clamp(MOST, MOST_CROWDED)
        } else {
            (waited / 32).clamp(Duration::from_micros(1), MOST)
        }
    }
}
