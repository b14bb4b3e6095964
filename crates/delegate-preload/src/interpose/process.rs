//! What closes descriptors elsewhere, and what makes processes that share memory.

use coho_preload::Errno;
use libc::{FILE, c_int, c_uint, pid_t, rlimit};

use super::fail;
use super::memory::before_map;
use super::unsharing::{counts_hosts, unshares, unsharing};
use crate::descriptors::errors::{self, take_error};
use crate::descriptors::{forget, forget_all, is_new};
use crate::real::real;
use crate::state::{self, AtHome};
use crate::write_queue::{at_once, drain};
use crate::{cpus, ending, readable};

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fclose(file: *mut FILE) -> c_int {
    // SAFETY: the caller's promises are handed on.
    unsafe {
        drain();
        let descriptor = {
            // A stream without a descriptor may be closed as well as others.
            let _errno = Errno::kept();
            libc::fileno(file)
        };
        ending::standard_error_closes(descriptor as c_uint, descriptor as c_uint);
        let error = take_error(descriptor);
        forget(descriptor);
        // The stream tells of its last writes' errors, as nobody could afterwards.
        let result = at_once(|| real!(fclose(file; *mut FILE) -> c_int));
        forget(descriptor);
        error.map_or(result, |error| fail(error) as c_int)
    }
}

macro_rules! doubling {
    ($($name:ident($from:ident, $to:ident $(, $flags:ident)?);)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($from: c_int, $to: c_int $(, $flags: c_int)?) -> c_int {
            drain();
            forget($to);
            // SAFETY: the caller's promises are handed on.
            let result = unsafe { real!($name($from, $to $(, $flags)?; c_int, c_int $(, doubling!(@int $flags))?) -> c_int) };
            replaced($from, $to, result);
            result
        }
    )+ };
    (@int $flags:ident) => { c_int };
}

doubling! {
    dup2(from, to);
    dup3(from, to, flags);
}

/// What was there before is closed, if the call succeeded.
fn replaced(from: c_int, to: c_int, result: c_int) {
    forget(to);
    if result == to && from != to && !state::is_vforked() {
        errors::replace(to);
        errors::share(from, to);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(from: c_int) -> c_int {
    drain();
    // SAFETY: the caller's promises are handed on.
    let to = unsafe { real!(dup(from; c_int) -> c_int) };
    is_new(to);
    errors::share(from, to);
    to
}

macro_rules! controlling {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(descriptor: c_int, command: c_int, argument: usize) -> c_int {
            drain();
            set_flags(command);
            // SAFETY: the caller's promises are handed on.
            let result = at_once(|| unsafe { real!($name(descriptor, command, argument; c_int, c_int, usize) -> c_int) });
            set_flags(command);
            if [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&command) {
                is_new(result);
                errors::share(descriptor, result);
            }
            result
        }
    )+ };
}

controlling!(fcntl fcntl64);

macro_rules! forgetful {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty: $before:expr;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            drain();
            $before;
            // SAFETY: the caller's promises are handed on.
            let result = at_once(|| unsafe { real!($name($($argument),*; $($kind),*) -> $result) });
            $before;
            result
        }
    )+ };
}

forgetful! {
    freopen(path: *const libc::c_char, mode: *const libc::c_char, file: *mut FILE) -> *mut FILE: forget_all();
    freopen64(path: *const libc::c_char, mode: *const libc::c_char, file: *mut FILE) -> *mut FILE: forget_all();
    fcloseall() -> c_int: forget_all();
    login_tty(descriptor: c_int) -> c_int: forget_all();
    setrlimit(kind: c_uint, limit: *const rlimit) -> c_int: set_limit(kind, limit.cast());
    setrlimit64(kind: c_uint, limit: *const rlimit) -> c_int: set_limit(kind, limit.cast());
    prlimit(process: pid_t, kind: c_uint, limit: *const rlimit, before: *mut rlimit) -> c_int: set_limit(kind, limit);
    prlimit64(process: pid_t, kind: c_uint, limit: *const rlimit, before: *mut rlimit) -> c_int: set_limit(kind, limit);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    drain();
    if unshares(flags as c_uint) {
        ending::end("close_range with CLOSE_RANGE_UNSHARE");
    }
    ending::standard_error_closes(first, last);
    forget_all();
    // SAFETY: the caller's promises are handed on.
    let result = unsafe { real!(close_range(first, last, flags; c_uint, c_uint, c_int) -> c_int) };
    closed_all(first, last, flags as c_uint, result);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    drain();
    ending::standard_error_closes(first.max(0) as c_uint, c_uint::MAX);
    forget_all();
    // SAFETY: the caller's promises are handed on.
    unsafe { real!(closefrom(first; c_int) -> ()) };
    closed_all(first.max(0) as c_uint, c_uint::MAX, 0, 0);
}

/// What was there is closed, if the call succeeded and closes at once.
fn closed_all(first: c_uint, last: c_uint, flags: c_uint, result: c_int) {
    forget_all();
    if result == 0 && flags & libc::CLOSE_RANGE_CLOEXEC == 0 && !state::is_vforked() {
        errors::abandon(first..=last);
    }
}

/// The C library's own way to close, where it must not be cancelled, and in the children of `posix_spawn`: descriptors of
/// theirs, but memory of the parent's. So it does no more than what is right for both.
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub unsafe extern "C-unwind" fn close_within(descriptor: c_int) -> c_int {
    drain();
    forget(descriptor);
    // SAFETY: the caller's promises are handed on.
    let result = unsafe { real!(__close_nocancel(descriptor; c_int) -> c_int) };
    forget(descriptor);
    result
}

/// Whether writes may be done later depends on the flags of a file that is open, by whichever descriptor they are set.
fn set_flags(command: c_int) {
    if command == libc::F_SETFL {
        forget_all();
    }
}

/// And on the limit of its size.
fn set_limit(kind: c_uint, limit: *const rlimit) {
    if limit.is_null() {
        return;
    }
    if kind == libc::RLIMIT_FSIZE {
        forget_all();
    }
    if counts_hosts(kind) {
        ending::end("setrlimit");
    }
}

/// The C library's runs no handlers of `pthread_atfork`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Fork() -> pid_t {
    drain();
    cpus::give_back();
    // SAFETY: the caller's promises are handed on.
    unsafe {
        let child = real!(_Fork(;) -> pid_t);
        if child == 0 {
            ending::forked();
        }
        child
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int {
    const ASYNCHRONOUS: c_int = 1;
    if kind == ASYNCHRONOUS {
        drain();
        state::stay_at_home(AtHome::Cancellable, true);
    }
    // SAFETY: the caller's promises are handed on.
    let answer = unsafe { real!(pthread_setcanceltype(kind, before; c_int, *mut c_int) -> c_int) };
    if answer == 0 && kind != ASYNCHRONOUS {
        state::stay_at_home(AtHome::Cancellable, false);
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    ending::leaves(thread);
    // SAFETY: the caller's promises are handed on.
    unsafe { real!(pthread_cancel(thread; libc::pthread_t) -> c_int) }
}

/// System calls that close descriptors, or set what writes to one depend on.
const CHANGES_FILES: &[libc::c_long] = &[
    libc::SYS_close,
    libc::SYS_close_range,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_prlimit64,
    libc::SYS_setrlimit,
];

/// Those that ask for or set a thread's CPUs, or make what has the same ones.
const CONCERNS_CPUS: &[libc::c_long] = &[
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Those after which memory may be gone.
const CHANGES_MEMORY: [libc::c_long; 5] =
    [libc::SYS_brk, libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_munmap];

/// Those that put another program in the place of this one.
const REPLACES_PROGRAM: [libc::c_long; 2] = [libc::SYS_execve, libc::SYS_execveat];

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(
    number: libc::c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> libc::c_long {
    // The library's own locks come here to wait and to wake, also whom a host has to wait for.
    let is_within_process = number == libc::SYS_futex && b & libc::FUTEX_PRIVATE_FLAG as usize != 0;
    if !is_within_process {
        drain();
    }
    if CONCERNS_CPUS.contains(&number) {
        cpus::give_back();
    }
    if number == libc::SYS_exit {
        ending::leave();
    }
    if number == libc::SYS_exit_group {
        ending::leave_process();
    }
    if REPLACES_PROGRAM.contains(&number) {
        ending::finish();
    }
    if number == libc::SYS_mmap {
        before_map(d as c_int, e as c_int);
    }
    if let Some(name) = unsharing(number, [a, b, c]) {
        ending::end(name);
    }
    // SAFETY: the caller's promises are handed on.
    let result = unsafe {
        real!(syscall(number, a, b, c, d, e, f; libc::c_long, usize, usize, usize, usize, usize, usize) -> libc::c_long)
    };
    if CHANGES_FILES.contains(&number) {
        forget_all();
    }
    if number == libc::SYS_close_range {
        closed_all(a as c_uint, b as c_uint, c as c_uint, result as c_int);
    }
    if CHANGES_MEMORY.contains(&number) {
        readable::forget_all();
    }
    result
}
