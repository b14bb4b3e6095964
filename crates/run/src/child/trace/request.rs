//! The kernel's requests of `ptrace`, each as a function.

use std::io;
use std::ptr;

use libc::{c_int, c_void, pid_t};

/// The type of a request's name, which C libraries do not agree on.
#[cfg(target_env = "gnu")]
type Request = libc::c_uint;
#[cfg(not(target_env = "gnu"))]
type Request = c_int;

/// What begins traced, and stopped: new threads, new processes, other programs.
const OPTIONS: c_int = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

fn request(what: Request, thread: pid_t, address: *mut c_void, data: *mut c_void) -> io::Result<()> {
    // SAFETY: only the requests below come here, none of which writes to memory of this process.
    match unsafe { libc::ptrace(what, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A number in the place of a pointer.
fn number(number: c_int) -> *mut c_void {
    ptr::without_provenance_mut(number as usize)
}

/// Asks to be traced by the parent's thread that forked: the next `exec` stops. For a child between `fork` and `exec`.
pub(in crate::child) fn be_traced() -> io::Result<()> {
    request(libc::PTRACE_TRACEME, 0, ptr::null_mut(), ptr::null_mut())
}

/// Lets go of a thread that is stopped, which then gets `signal`.
pub(super) fn detach(thread: pid_t, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_DETACH, thread, ptr::null_mut(), number(signal))
}

/// Traces a process without stopping it. If coho ends, the process goes on.
pub(super) fn seize(process: pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, process, ptr::null_mut(), number(OPTIONS))
}

/// The same of a process that is killed if coho ends.
pub(super) fn seize_to_end(process: pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, process, ptr::null_mut(), number(OPTIONS | libc::PTRACE_O_EXITKILL))
}

/// Has a thread stop that is traced since `seize`, unless it is stopped already.
pub(super) fn interrupt(thread: pid_t) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, thread, ptr::null_mut(), ptr::null_mut())
}

/// The registers of a thread that is stopped.
#[cfg(target_arch = "x86_64")]
pub(super) fn registers(thread: pid_t) -> io::Result<libc::user_regs_struct> {
    let mut registers = std::mem::MaybeUninit::uninit();
    let none = ptr::null_mut::<c_void>();
    // SAFETY: the kernel writes one structure of this type, all of it if it reports no error.
    unsafe {
        match libc::ptrace(libc::PTRACE_GETREGS, thread, none, registers.as_mut_ptr()) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(registers.assume_init()),
        }
    }
}

/// Lets a stopped thread go on, with a signal if that is not 0.
pub(super) fn go_on(thread: pid_t, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_CONT, thread, ptr::null_mut(), number(signal))
}

/// Leaves a thread stopped that a stop signal stopped, but hears of its end and of SIGCONT.
pub(super) fn leave_stopped(thread: pid_t) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, thread, ptr::null_mut(), ptr::null_mut())
}
