//! Calls without files: process numbers, the time, yielding, waking.

use std::hint::black_box;
use std::io;

use super::super::arch::syscall;
use super::super::subject::{Act, MOST, plain};
use super::table::Wanted;

const NONE: [usize; 6] = [0; 6];

pub(super) fn getpid(wanted: &Wanted<'_>) -> io::Result<Act> {
    wanted.plain(
        // SAFETY: no arguments.
        || unsafe { libc::getpid() } as isize,
        // SAFETY: no arguments.
        || unsafe { syscall(libc::SYS_getpid, NONE) },
    )
}

pub(super) fn getppid(wanted: &Wanted<'_>) -> io::Result<Act> {
    wanted.plain(
        // SAFETY: no arguments.
        || unsafe { libc::getppid() } as isize,
        // SAFETY: no arguments.
        || unsafe { syscall(libc::SYS_getppid, NONE) },
    )
}

pub(super) fn sched_yield(wanted: &Wanted<'_>) -> io::Result<Act> {
    wanted.plain(
        // SAFETY: no arguments.
        || unsafe { libc::sched_yield() } as isize,
        // SAFETY: no arguments.
        || unsafe { syscall(libc::SYS_sched_yield, NONE) },
    )
}

/// The C library's function usually stays in user mode (vDSO); the instruction always enters the kernel.
pub(super) fn gettimeofday(wanted: &Wanted<'_>) -> io::Result<Act> {
    let time = || libc::timeval { tv_sec: 0, tv_usec: 0 };
    wanted.plain(
        move || {
            let mut now = time();
            // SAFETY: `now` is valid for writes; no time zone is asked for.
            unsafe { libc::gettimeofday(black_box(&mut now), std::ptr::null_mut()) as isize }
        },
        move || {
            let mut now = time();
            let to = black_box(&raw mut now) as usize;
            // SAFETY: as above.
            unsafe { syscall(libc::SYS_gettimeofday, [to, 0, 0, 0, 0, 0]) }
        },
    )
}

/// The monotonic clock; as for [`gettimeofday`].
pub(super) fn clock_gettime(wanted: &Wanted<'_>) -> io::Result<Act> {
    let time = || libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = libc::CLOCK_MONOTONIC;
    wanted.plain(
        move || {
            let mut now = time();
            // SAFETY: `now` is valid for writes.
            unsafe { libc::clock_gettime(clock, black_box(&mut now)) as isize }
        },
        move || {
            let mut now = time();
            let to = black_box(&raw mut now) as usize;
            // SAFETY: as above.
            unsafe { syscall(libc::SYS_clock_gettime, [clock as usize, to, 0, 0, 0, 0]) }
        },
    )
}

/// Wakes a waiter on a word that has none.
pub(super) fn futex_wake(_: &Wanted<'_>) -> io::Result<Act> {
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let body = plain(move || {
        let word = 0u32;
        let at = black_box(&raw const word) as usize;
        // SAFETY: the kernel only uses the address of a private futex.
        unsafe { syscall(libc::SYS_futex, [at, wake, 1, 0, 0, 0]) }
    });
    Ok(Act { body, most: MOST })
}
