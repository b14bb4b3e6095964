//! A program that is killed at one of its system calls, which a power cut or an impatient administrator may choose.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;

use libc::{c_int, pid_t, ptrace_syscall_info};

/// How a program that may have been killed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status, after so many calls.
    Itself {
        /// Its exit status.
        status: i32,
        /// The system calls from the one that begins the count on.
        calls: usize,
    },
    /// Killed as it was about to make the call.
    Killed,
}

/// Runs a program, and kills it as it is about to make its system call number `at`; the first that counts, number 0, is
/// the one that names a path with `begins` in it. [`Capability::Tracing`](crate::Capability::Tracing) is needed.
///
/// # Panics
/// If the program cannot be started or traced, or a signal ends it.
#[expect(clippy::zombie_processes, reason = "a tracer waits for it by its number")]
pub fn killed_at(command: &mut Command, begins: &str, at: usize) -> End {
    let traced = || match trace(libc::PTRACE_TRACEME, 0, 0, null_mut()) {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: ptrace is a plain system call, which a child may make between fork and exec.
    let child = unsafe { command.pre_exec(traced) }.spawn().expect("a program to trace");
    let process = child.id() as pid_t;
    let mut memory = None;
    let mut calls = None;
    let mut delivered = 0;
    loop {
        let status = wait(process);
        if libc::WIFEXITED(status) {
            return End::Itself {
                status: libc::WEXITSTATUS(status),
                calls: calls.map_or(0, |calls: usize| calls + 1),
            };
        }
        assert!(libc::WIFSTOPPED(status), "signal {} ended the program", libc::WTERMSIG(status));
        match libc::WSTOPSIG(status) {
            SYSCALL_STOP => {
                if let Some(arguments) = entered(process) {
                    let file = memory.get_or_insert_with(|| memory_of(process));
                    calls = match calls {
                        Some(calls) => Some(calls + 1),
                        None => {
                            arguments.iter().take(2).any(|&at| text(file, at).contains(begins)).then_some(0)
                        }
                    };
                }
                if calls == Some(at) {
                    // SAFETY: no pointers; the program has not been waited for to its end.
                    unsafe { libc::kill(process, libc::SIGKILL) };
                    while !libc::WIFSIGNALED(wait(process)) {}
                    return End::Killed;
                }
            }
            // It has begun to execute.
            libc::SIGTRAP => {
                memory = None;
                trace(libc::PTRACE_SETOPTIONS, process, 0, OPTIONS as *mut c_void);
            }
            signal => delivered = signal,
        }
        trace(libc::PTRACE_SYSCALL, process, 0, std::mem::take(&mut delivered) as *mut c_void);
    }
}

/// What a stop at a system call looks like with [`OPTIONS`].
const SYSCALL_STOP: c_int = libc::SIGTRAP | 0x80;
const OPTIONS: usize = (libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL) as usize;

fn trace(request: libc::c_uint, process: pid_t, address: usize, data: *mut c_void) -> libc::c_long {
    // SAFETY: each caller gives what its request takes; a size stands in place of an address where one is wanted.
    unsafe { libc::ptrace(request as _, process, address as *mut c_void, data) }
}

fn wait(process: pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: the kernel writes one number.
    let waited = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) };
    assert_eq!(waited, process, "{}", io::Error::last_os_error());
    status
}

/// The arguments of the call that the program is about to make; `None` if it has just made one.
fn entered(process: pid_t) -> Option<[u64; 6]> {
    let mut info = MaybeUninit::<ptrace_syscall_info>::zeroed();
    let size = size_of::<ptrace_syscall_info>();
    let got = trace(libc::PTRACE_GET_SYSCALL_INFO, process, size, info.as_mut_ptr().cast());
    assert!(got > 0, "PTRACE_GET_SYSCALL_INFO: {}", io::Error::last_os_error());
    // SAFETY: zeroes are valid, and so is what the kernel writes; at an entry it fills that part of the union.
    unsafe {
        let info = info.assume_init();
        if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY { Some(info.u.entry.args) } else { None }
    }
}

fn memory_of(process: pid_t) -> File {
    File::open(format!("/proc/{process}/mem")).expect("the memory of a traced program")
}

/// The text at an address of the program; empty if there is none.
fn text(memory: &File, address: u64) -> String {
    let mut bytes = [0; 256];
    let read = memory.read_at(&mut bytes, address).unwrap_or(0);
    let text = bytes[..read].split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
