//! Preloaded into a dynamic program (`LD_PRELOAD`), it pins each thread that the program makes by `pthread_create` to the
//! next CPU of the list in `COHO_PIN`, beginning anew at its end. The program's first thread is pinned, to the list's
//! first CPU, when it makes its second: a program of one thread, such as a shell, stays free.
//!
//! Never outside the mask that the process has; a thread whose maker gave it CPUs of its own keeps them. What the
//! program starts begins with the mask that it had before. In programs that run with more rights than their user, and
//! without the variable, it does nothing.
//!
//! With `COHO_DEAL` and `COHO_DEAL_TURNS` in the environment it deals out processes instead: each process of a job, forked or
//! started, is held to the next CPU of the list, whose turn it is standing in the file that the second variable names. A
//! process that becomes another program keeps its CPU, and so do children of one that chose its CPUs itself.
//!
//! `coho run --per-thread` and `--per-process` set it up.
#![warn(missing_docs)]

mod order;
mod processes;
mod threads;

pub use processes::TURNS_BYTES;

/// CPUs in the order in which threads take them, as in `0,2,1,3`.
pub const ORDER: &str = "COHO_PIN";

mod interpose {
    use libc::{c_int, c_void, pthread_attr_t, pthread_t};

    use crate::processes;
    use crate::threads::{self, Start};

    /// Stands before the C library's function of this name.
    ///
    /// # Safety
    /// As the C library's.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn pthread_create(
        thread: *mut pthread_t,
        attributes: *const pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's promises are handed on.
        unsafe { threads::create(thread, attributes, start, argument) }
    }

    /// Run when the library is loaded.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEGIN: extern "C" fn() = begin;

    extern "C" fn begin() {
        threads::widen();
        processes::begin();
    }
}
