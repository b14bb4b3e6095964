//! Calls on descriptors.

use coho_delegate::{Executor, Request};
use libc::{c_int, c_uint, c_void, off_t, size_t, ssize_t, stat};

use super::{argument, fail, give, standing_before};
use crate::calls::Call;
use crate::delegation::{self, away, away_by, cancellation_point, delegates, stays_home};
use crate::descriptors::errors::take_error;
use crate::descriptors::{forget, is_common, is_known_regular, is_regular, writes_later};
use crate::ending;
use crate::real::real;
use crate::write_queue::{self, drain};

/// The kernel raises a signal in whoever it refuses these to: the program's thread is to have it.
fn signals(answer: isize) -> bool {
    answer == -(libc::EFBIG as isize) || answer == -(libc::EPIPE as isize)
}

/// A call on a regular file. `None`: it is the C library's to make.
unsafe fn on_file(call: Call, number: libc::c_long, arguments: [usize; 4]) -> Option<isize> {
    let [descriptor, b, c, d] = arguments;
    let payload_bytes = if matches!(call, Call::Fsync | Call::Ftruncate) { 0 } else { c };
    if stays_home(call, payload_bytes) || !is_regular(descriptor as c_int) {
        return None;
    }
    if call.is_cancellation_point() {
        cancellation_point();
    }
    let request = Request::system(number, [descriptor, b, c, d, 0, 0]);
    if delegates(call, payload_bytes)
        // SAFETY: the caller's promises are handed on.
        && let Some((answer, executor)) = unsafe { away_by(call, request) }
        // Who has executed it itself has had the signal.
        && !(executor == Executor::Host && signals(answer))
    {
        return Some(answer);
    }
    // As the C library does it, but for what it does in programs with threads so that a call that blocks can be cancelled.
    // SAFETY: as above.
    Some(unsafe { request.execute() }.raw())
}

/// Defines functions that have a host make the call, or else the C library.
macro_rules! on_files {
    ($($call:ident $number:ident $name:ident(descriptor $(, $argument:ident: $kind:ty)*) -> $result:ty;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(descriptor: c_int $(, $argument: $kind)*) -> $result {
            drain();
            if let Some(error) = take_error(descriptor) {
                return fail(error) as $result;
            }
            let mut arguments = [argument(descriptor), 0, 0, 0];
            let values: &[usize] = &[$($argument as usize),*];
            arguments[1..=values.len()].copy_from_slice(values);
            // SAFETY: the caller's promises are handed on.
            match unsafe { on_file(Call::$call, libc::$number, arguments) } {
                Some(answer) => give(answer) as $result,
                // SAFETY: as above.
                None => unsafe { real!($name(descriptor $(, $argument)*; c_int $(, $kind)*) -> $result) },
            }
        }
    )+ };
}

on_files! {
    Pread SYS_pread64 pread(descriptor, buffer: *mut c_void, bytes: size_t, at: off_t) -> ssize_t;
    Pread SYS_pread64 pread64(descriptor, buffer: *mut c_void, bytes: size_t, at: off_t) -> ssize_t;
    Pwrite SYS_pwrite64 pwrite(descriptor, buffer: *const c_void, bytes: size_t, at: off_t) -> ssize_t;
    Pwrite SYS_pwrite64 pwrite64(descriptor, buffer: *const c_void, bytes: size_t, at: off_t) -> ssize_t;
    Fsync SYS_fsync fsync(descriptor) -> c_int;
    Fsync SYS_fdatasync fdatasync(descriptor) -> c_int;
    Ftruncate SYS_ftruncate ftruncate(descriptor, length: off_t) -> c_int;
    Ftruncate SYS_ftruncate ftruncate64(descriptor, length: off_t) -> c_int;
}

standing_before! {
    fn read(descriptor: c_int, buffer: *mut c_void, bytes: size_t) -> ssize_t {
        drain();
        if let Some(error) = take_error(descriptor) {
            return fail(error) as ssize_t;
        }
        let arguments = [argument(descriptor), buffer as usize, bytes, 0];
        // SAFETY: the caller's promises are handed on.
        match unsafe { on_file(Call::Read, libc::SYS_read, arguments) } {
            Some(answer) => give(answer) as ssize_t,
            // SAFETY: as above.
            None => unsafe { real!(read(descriptor, buffer, bytes; c_int, *mut c_void, size_t) -> ssize_t) },
        }
    }

    fn write(descriptor: c_int, buffer: *const c_void, bytes: size_t) -> ssize_t {
        let is_later = delegation::writes_later() && writes_later(descriptor) && !write_queue::rests();
        if !is_later {
            drain();
        }
        if let Some(error) = take_error(descriptor) {
            return fail(error) as ssize_t;
        }
        if is_later {
            cancellation_point();
            if let Some(accepted) = write_queue::accept(descriptor, buffer, bytes) {
                return accepted;
            }
            drain();
        }
        let arguments = [argument(descriptor), buffer as usize, bytes, 0];
        // SAFETY: the caller's promises are handed on.
        match unsafe { on_file(Call::Write, libc::SYS_write, arguments) } {
            Some(answer) => give(answer) as ssize_t,
            // SAFETY: as above.
            None => unsafe { real!(write(descriptor, buffer, bytes; c_int, *const c_void, size_t) -> ssize_t) },
        }
    }

    fn close(descriptor: c_int) -> c_int {
        drain();
        ending::standard_error_closes(descriptor as c_uint, descriptor as c_uint);
        let error = take_error(descriptor);
        let is_away = !stays_home(Call::Close, 0)
            && is_known_regular(descriptor)
            && delegates(Call::Close, 0);
        forget(descriptor);
        let request = Request::system(libc::SYS_close, [argument(descriptor), 0, 0, 0, 0, 0]);
        if is_away {
            cancellation_point();
        }
        // SAFETY: the caller's promises are handed on.
        let answer = if is_away { unsafe { away(Call::Close, request) } } else { None };
        let result = match answer {
            Some(answer) => give(answer) as c_int,
            // SAFETY: as above.
            None => unsafe { real!(close(descriptor; c_int) -> c_int) },
        };
        // Another thread may have asked meanwhile what it is.
        forget(descriptor);
        error.map_or(result, |error| fail(error) as c_int)
    }
}

macro_rules! fstat {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(descriptor: c_int, status: *mut stat) -> c_int {
            drain();
            if !stays_home(Call::Stat, 0) && is_common(descriptor) && delegates(Call::Stat, 0) {
                let request = Request::system(libc::SYS_fstat, [argument(descriptor), status as usize, 0, 0, 0, 0]);
                // SAFETY: the caller's promises are handed on.
                if let Some(answer) = unsafe { away(Call::Stat, request) } {
                    return give(answer) as c_int;
                }
            }
            // SAFETY: as above.
            unsafe { real!($name(descriptor, status; c_int, *mut stat) -> c_int) }
        }
    )+ };
}

fstat!(fstat fstat64);
