//! Kills a copy of the process at its n-th system call.

use std::io;

/// How a copy ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It was killed before it had finished.
    Killed,
    /// It had finished.
    Finished,
}

/// Runs `work` in a copy of the process and kills that when it enters or leaves a system call for the `n`-th time.
/// `None` if processes may not be traced.
///
/// The copy has the calling thread only, so `work` must not wait for another.
pub fn at_system_call(n: usize, work: impl FnOnce()) -> Option<End> {
    // SAFETY: the copy ends without returning.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", io::Error::last_os_error()),
        0 => {
            // SAFETY: no memory arguments; stops until the parent has looked.
            unsafe {
                if libc::ptrace(libc::PTRACE_TRACEME) != 0 {
                    libc::_exit(9);
                }
                libc::raise(libc::SIGSTOP);
            }
            work();
            // SAFETY: ends the copy without what the parent has registered for its own end.
            unsafe { libc::_exit(0) }
        }
        child => follow(child, n),
    }
}

fn follow(child: libc::pid_t, n: usize) -> Option<End> {
    for _ in 0..=n {
        match wait(child) {
            status if libc::WIFSTOPPED(status) => {}
            status if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 9 => return None,
            status if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 => {
                return Some(End::Finished);
            }
            status => panic!("the copy ended with {status:#x}"),
        }
        // SAFETY: the child is stopped and ours.
        let went_on = unsafe { libc::ptrace(libc::PTRACE_SYSCALL, child, 0, 0) };
        assert_eq!(went_on, 0, "{}", io::Error::last_os_error());
    }
    // SAFETY: the child is ours and not waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    loop {
        let status = wait(child);
        if libc::WIFSIGNALED(status) {
            return Some(End::Killed);
        }
        if libc::WIFEXITED(status) {
            return Some(End::Finished);
        }
    }
}

fn wait(child: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: the kernel fills the status of a child that is ours.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child, "{}", io::Error::last_os_error());
    status
}
