//! Programs that a pinned thread starts: they begin with the CPUs that the process had before.

use std::ffi::c_void;

use libc::{FILE, c_char, c_int, pid_t};

use coho_preload::{Next, call_next};

use crate::next;
use crate::threads::widened;

type Strings = *const *const c_char;

macro_rules! starting {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => { $(
        /// Takes the place of the C library's function of this name.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            // SAFETY: the caller's promises are handed on.
            widened(|| unsafe { call_next!(next::$name; $($argument),*; $($kind),*; $result) })
        }
    )+ };
}

starting! {
    execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    execv(path: *const c_char, arguments: Strings) -> c_int;
    execvp(file: *const c_char, arguments: Strings) -> c_int;
    execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    fexecve(file: c_int, arguments: Strings, environment: Strings) -> c_int;
    execveat(folder: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int) -> c_int;
    posix_spawn(
        process: *mut pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: Strings,
        environment: Strings
    ) -> c_int;
    posix_spawnp(
        process: *mut pid_t,
        file: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: Strings,
        environment: Strings
    ) -> c_int;
    system(command: *const c_char) -> c_int;
    popen(command: *const c_char, kind: *const c_char) -> *mut FILE;
}

/// Before a program takes this one's place, whatever its arguments. A thread whose call fails keeps all CPUs.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
extern "C" fn widen(function: &Next) -> *mut c_void {
    crate::threads::widen();
    function.address()
}

/// Functions, by what makes the address of `next` the first argument.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
macro_rules! replacing {
    ($arguments:tt: $($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            coho_preload::jump! { before: [], arguments: $arguments, ask: widen, next = sym next::$name, }
        }
    )+ };
}

#[cfg(target_arch = "x86_64")]
replacing! { ["lea rdi, [rip + {next}]"]: execl execlp execle }
#[cfg(target_arch = "aarch64")]
replacing! { ["adrp x0, {next}", "add x0, x0, #:lo12:{next}"]: execl execlp execle }
