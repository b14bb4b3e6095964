//! Barriers for C.

use std::time::Duration;

use super::coho_sync_status::{self, *};
use super::hand_out;
use super::options::{Chosen, coho_sync_options};
use crate::{Algorithm, Barrier, Error};

/// A barrier for a fixed number of threads, each of which arrives under a rank of its own.
///
/// Every rank must arrive at every barrier. If one stays away, the others wait forever; a rank cannot be removed later.
///
/// A rank may pass from one thread to another between two waits, once the first thread's wait has returned and the second
/// thread knows of it, for example after joining the first. If two threads use a rank at once, others may leave too early, but
/// no foreign memory is touched.
///
/// Whatever a thread did before it arrived is visible to every thread that has left.
pub struct coho_barrier(Barrier);

/// How the threads of a barrier learn that all have arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_algorithm {
    /// Chooses by the number of threads.
    COHO_AUTO = 0,
    /// FBS, each flag on a line of its own.
    COHO_FBS = 1,
    /// FBS, all flags on one line.
    COHO_FBS_ONE_LINE = 2,
    /// A counter in a mutex.
    COHO_LOCK = 3,
    /// A counter behind a spin lock.
    COHO_SPIN_LOCK = 4,
    /// Central, sense-reversing.
    COHO_CENTRAL = 5,
    /// Dissemination; the parameter is its radix, 2 or more.
    COHO_DISSEMINATION = 6,
    /// A tournament; the parameter is its arity, 2 or more.
    COHO_TOURNAMENT = 7,
    /// FBS inside clusters, then between them.
    COHO_GRID = 8,
    /// The grid with a round for each level of the machine.
    COHO_HIERARCHICAL = 9,
}

fn constant(algorithm: Algorithm) -> coho_algorithm {
    use coho_algorithm::*;
    match algorithm {
        Algorithm::Auto => COHO_AUTO,
        Algorithm::Fbs => COHO_FBS,
        Algorithm::FbsOneLine => COHO_FBS_ONE_LINE,
        Algorithm::Lock => COHO_LOCK,
        Algorithm::SpinLock => COHO_SPIN_LOCK,
        Algorithm::Central => COHO_CENTRAL,
        Algorithm::Dissemination { .. } => COHO_DISSEMINATION,
        Algorithm::Tournament { .. } => COHO_TOURNAMENT,
        Algorithm::Grid => COHO_GRID,
        Algorithm::Hierarchical => COHO_HIERARCHICAL,
    }
}

pub(super) fn algorithm(constant: i32, parameter: usize) -> Result<Algorithm, Error> {
    use coho_algorithm::*;
    let known = [
        (COHO_AUTO, Algorithm::Auto),
        (COHO_FBS, Algorithm::Fbs),
        (COHO_FBS_ONE_LINE, Algorithm::FbsOneLine),
        (COHO_LOCK, Algorithm::Lock),
        (COHO_SPIN_LOCK, Algorithm::SpinLock),
        (COHO_CENTRAL, Algorithm::Central),
        (COHO_DISSEMINATION, Algorithm::Dissemination { radix: parameter }),
        (COHO_TOURNAMENT, Algorithm::Tournament { arity: parameter }),
        (COHO_GRID, Algorithm::Grid),
        (COHO_HIERARCHICAL, Algorithm::Hierarchical),
    ];
    known
        .into_iter()
        .find(|(name, _)| *name as i32 == constant)
        .map(|(_, algorithm)| algorithm)
        .ok_or_else(|| Error::Argument(format!("{constant} is not an algorithm")))
}

/// Makes a barrier for `threads` threads. `algorithm` is a `coho_algorithm`; `parameter` is its radix or arity, and
/// otherwise ignored. `options` may be null; they are not needed afterwards.
///
/// # Safety
/// `out` is null or can be written; `options` is null or can be read, with arrays for as many threads, and any thread
/// may call its report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_barrier_create(
    algorithm: i32,
    parameter: usize,
    threads: usize,
    options: *const coho_sync_options,
    out: *mut *mut coho_barrier,
) -> coho_sync_status {
    let make = || {
        let builder = Barrier::builder(threads).algorithm(self::algorithm(algorithm, parameter)?);
        // SAFETY: as the caller promises.
        match unsafe { Chosen::of(options, threads)? } {
            Some(chosen) => chosen.of_barrier(builder).build(),
            None => builder.build(),
        }
    };
    let made = make();
    // SAFETY: as the caller promises.
    unsafe { hand_out(out, made.map(coho_barrier)) }
}

/// Arrives as `rank`, below the number of threads, and waits until all have arrived.
///
/// # Safety
/// `barrier` is null or a barrier that is not being destroyed; one thread at a time uses a rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_barrier_wait(barrier: *const coho_barrier, rank: usize) -> coho_sync_status {
    // SAFETY: as the caller promises.
    match unsafe { barrier.as_ref() } {
        Some(coho_barrier(barrier)) if rank < barrier.threads() => {
            barrier.wait(rank);
            COHO_SYNC_OK
        }
        _ => COHO_SYNC_INVALID,
    }
}

/// As `coho_barrier_wait`, but returns `COHO_SYNC_TIMED_OUT` after the given number of nanoseconds. The arrival
/// stands: the next wait as this rank continues with the same barrier. The first ranks that have not arrived, at most
/// `capacity`, are written to `missing`, and their total number to `count`; both may be null.
///
/// # Safety
/// As `coho_barrier_wait`; `missing` is null or has room for `capacity` ranks, `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_barrier_wait_timeout(
    barrier: *const coho_barrier,
    rank: usize,
    limit_ns: u64,
    missing: *mut usize,
    capacity: usize,
    count: *mut usize,
) -> coho_sync_status {
    // SAFETY: as the caller promises.
    let Some(coho_barrier(barrier)) = (unsafe { barrier.as_ref() }) else { return COHO_SYNC_INVALID };
    if rank >= barrier.threads() {
        return COHO_SYNC_INVALID;
    }
    let Err(late) = barrier.wait_timeout(rank, Duration::from_nanos(limit_ns)) else { return COHO_SYNC_OK };
    if !count.is_null() {
        // SAFETY: as the caller promises.
        unsafe { count.write(late.missing.len()) };
    }
    if !missing.is_null() {
        for (place, rank) in late.missing.into_iter().take(capacity).enumerate() {
            // SAFETY: below the capacity.
            unsafe { missing.add(place).write(rank) };
        }
    }
    COHO_SYNC_TIMED_OUT
}

/// The barrier's algorithm, a `coho_algorithm`. It is never `COHO_AUTO`, but the one that was chosen; -1 for null.
///
/// # Safety
/// `barrier` is null or a live barrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_barrier_algorithm(barrier: *const coho_barrier) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { barrier.as_ref() }.map_or(-1, |coho_barrier(barrier)| constant(barrier.algorithm()) as i32)
}

/// Destroys a barrier. Null is ignored.
///
/// Make sure first that every wait has returned in every thread, for example by joining the threads: when one
/// thread's wait has returned, others may still be reading the barrier. A wait that timed out has returned.
///
/// # Safety
/// `barrier` is null or came from `coho_barrier_create`, every wait at it has returned, and nobody will use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_barrier_destroy(barrier: *mut coho_barrier) {
    if !barrier.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(barrier) });
    }
}
