//! A library to preload into a dynamically linked program (`LD_PRELOAD`). It pins each thread that the program creates
//! by `pthread_create` to the next CPU of the list in `COHO_PIN`, starting over at its end. The program's first thread
//! is pinned to the list's first CPU once it creates a second thread: a program of one thread, such as a shell, stays
//! free.
//!
//! A thread is never pinned outside the process's mask, and one that was created with CPUs of its own keeps them.
//! Programs that a pinned thread starts by the C library's functions begin with the mask that the process had before.
//! The library does nothing if the variable is not set, or if the program runs with more rights than its user.
//!
//! With `COHO_DEAL` and `COHO_DEAL_TURNS` in the environment it distributes processes instead: each process of a job,
//! whether forked or started, is confined to the next CPU of the list; the file that the second variable names holds
//! whose turn it is. A process that executes another program keeps its CPU, and children of a process that chose its
//! CPUs itself inherit those. `coho run --per-thread` and `--per-process` set these variables.
#![warn(missing_docs)]

mod order;
mod processes;
mod programs;
mod threads;

/// The functions that the library stands before.
mod next {
    coho_preload::next_functions! {
        pthread_create
        execve execv execvp execvpe execl execlp execle fexecve execveat
        posix_spawn posix_spawnp system popen
    }
}

pub use processes::TURNS_BYTES;

/// CPUs in the order in which threads take them, as in `0,2,1,3`.
pub const ORDER: &str = "COHO_PIN";

mod interpose {
    use libc::{c_int, c_void, pthread_attr_t, pthread_t};

    use coho_preload::{Errno, look_up_all};

    use crate::threads::{self, Start};
    use crate::{next, processes};

    /// Takes the place of the C library's function of this name.
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
        // SAFETY: the caller upholds the contract of `pthread_create`.
        unsafe { threads::create(thread, attributes, start, argument) }
    }

    /// Run when the library is loaded.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEGIN: extern "C" fn() = begin;

    extern "C" fn begin() {
        let _errno = Errno::kept();
        look_up_all(next::ALL);
        processes::begin();
    }
}
