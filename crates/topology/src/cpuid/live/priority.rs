//! Running on a busy CPU at once, without waiting for the running thread's time slice (4 ms a thread at 250 Hz), if the
//! process has the right to it.

/// Runs the calling thread, and those it starts, at the lowest real-time priority. Dropping this restores the old
/// policy.
pub(super) struct Raised {
    #[cfg(target_os = "linux")]
    policy: libc::c_int,
}

#[cfg(target_os = "linux")]
impl Raised {
    /// `None` without the right (Linux: CAP_SYS_NICE), or if the thread does not have a time-sharing policy.
    pub(super) fn new() -> Option<Self> {
        // SAFETY: the call takes no pointer; 0 is the calling thread.
        let policy = unsafe { libc::sched_getscheduler(0) };
        let time_sharing = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE];
        let plain = policy & !libc::SCHED_RESET_ON_FORK;
        (time_sharing.contains(&plain) && set(libc::SCHED_FIFO, 1)).then_some(Self { policy })
    }
}

#[cfg(target_os = "linux")]
impl Drop for Raised {
    fn drop(&mut self) {
        // Going back to time-sharing needs no right, and Linux keeps the niceness meanwhile.
        set(self.policy, 0);
    }
}

#[cfg(target_os = "linux")]
fn set(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: all zero is a valid value of this struct of integers.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the kernel reads `parameters`, which lives through the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(not(target_os = "linux"))]
impl Raised {
    pub(super) fn new() -> Option<Self> {
        None
    }
}
