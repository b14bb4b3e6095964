//! A system that refuses one call, as the seccomp filters of containers and services do.

use std::io;

use libc::{c_int, c_long, sock_filter, sock_fprog};

/// Answers one system call of a process and its descendants with an error.
#[derive(Debug, Clone)]
pub struct Filter([sock_filter; 4]);

impl Filter {
    /// Answers the call of this number, a `libc::SYS_…`, with this error.
    #[must_use]
    pub fn refusing(call: c_long, error: c_int) -> Self {
        let step = |code: u32, jf: u8, k: u32| sock_filter { code: code as u16, jt: 0, jf, k };
        // The number is the first field of what the filter sees.
        let load = step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
        let is_call = step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call as u32);
        let answer = |action: u32| step(libc::BPF_RET | libc::BPF_K, 0, action);
        Self([load, is_call, answer(libc::SECCOMP_RET_ERRNO | error as u32), answer(libc::SECCOMP_RET_ALLOW)])
    }

    /// Applies it to the calling process. Makes only system calls, so that a child may call it between `fork` and
    /// `exec`.
    ///
    /// # Errors
    /// The operating system's, if it has no filters.
    pub fn apply(&self) -> io::Result<()> {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the kernel reads the program, which lives for the call, and changes nothing in it.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
