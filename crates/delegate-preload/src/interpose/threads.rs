//! What makes threads, and what asks for a thread's CPUs or sets them: they find all of the program's.

use libc::{c_int, c_void, cpu_set_t, pid_t, pthread_attr_t, pthread_t, size_t};

use crate::cpus;
use crate::real::real;

macro_rules! giving_back {
    ($($name:ident($($argument:ident: $kind:ty),*);)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            cpus::give_back();
            // SAFETY: the caller's promises are handed on.
            unsafe { real!($name($($argument),*; $($kind),*) -> c_int) }
        }
    )+ };
}

giving_back! {
    pthread_create(
        thread: *mut pthread_t,
        attributes: *const pthread_attr_t,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void
    );
    thrd_create(thread: *mut pthread_t, start: extern "C" fn(*mut c_void) -> c_int, argument: *mut c_void);
    sched_getaffinity(thread: pid_t, bytes: size_t, cpus: *mut cpu_set_t);
    sched_setaffinity(thread: pid_t, bytes: size_t, cpus: *const cpu_set_t);
    pthread_getaffinity_np(thread: pthread_t, bytes: size_t, cpus: *mut cpu_set_t);
    pthread_setaffinity_np(thread: pthread_t, bytes: size_t, cpus: *const cpu_set_t);
}
