//! Calls without files: process numbers, the time, yielding, waking.

use std::hint::black_box;

use super::super::arch::syscall;
use super::super::subject::{Body, plain};

const NONE: [usize; 6] = [0; 6];

pub(super) fn getpid(wrapped: bool) -> Box<dyn Body> {
    if wrapped {
        // SAFETY: no arguments.
        plain(|| unsafe { libc::getpid() } as isize)
    } else {
        // SAFETY: no arguments.
        plain(|| unsafe { syscall(libc::SYS_getpid, NONE) })
    }
}

pub(super) fn getppid(wrapped: bool) -> Box<dyn Body> {
    if wrapped {
        // SAFETY: no arguments.
        plain(|| unsafe { libc::getppid() } as isize)
    } else {
        // SAFETY: no arguments.
        plain(|| unsafe { syscall(libc::SYS_getppid, NONE) })
    }
}

pub(super) fn sched_yield(wrapped: bool) -> Box<dyn Body> {
    if wrapped {
        // SAFETY: no arguments.
        plain(|| unsafe { libc::sched_yield() } as isize)
    } else {
        // SAFETY: no arguments.
        plain(|| unsafe { syscall(libc::SYS_sched_yield, NONE) })
    }
}

/// The C library's function usually stays in user mode (vDSO); the instruction always enters the kernel.
pub(super) fn gettimeofday(wrapped: bool) -> Box<dyn Body> {
    let time = || libc::timeval { tv_sec: 0, tv_usec: 0 };
    if wrapped {
        plain(move || {
            let mut now = time();
            // SAFETY: `now` is valid for writes; no time zone is asked for.
            unsafe { libc::gettimeofday(black_box(&mut now), std::ptr::null_mut()) as isize }
        })
    } else {
        plain(move || {
            let mut now = time();
            let to = black_box(&raw mut now) as usize;
            // SAFETY: as above.
            unsafe { syscall(libc::SYS_gettimeofday, [to, 0, 0, 0, 0, 0]) }
        })
    }
}

/// The monotonic clock; as for [`gettimeofday`].
pub(super) fn clock_gettime(wrapped: bool) -> Box<dyn Body> {
    let time = || libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = libc::CLOCK_MONOTONIC;
    if wrapped {
        plain(move || {
            let mut now = time();
            // SAFETY: `now` is valid for writes.
            unsafe { libc::clock_gettime(clock, black_box(&mut now)) as isize }
        })
    } else {
        plain(move || {
            let mut now = time();
            let to = black_box(&raw mut now) as usize;
            // SAFETY: as above.
            unsafe { syscall(libc::SYS_clock_gettime, [clock as usize, to, 0, 0, 0, 0]) }
        })
    }
}

/// Wakes a waiter on a word that has none.
pub(super) fn futex_wake() -> Box<dyn Body> {
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    plain(move || {
        let word = 0u32;
        let at = black_box(&raw const word) as usize;
        // SAFETY: the kernel only uses the address of a private futex.
        unsafe { syscall(libc::SYS_futex, [at, wake, 1, 0, 0, 0]) }
    })
}
