//! Calls on descriptors that are made at home, once all accepted writes are done: they tell of those that failed.

use libc::{c_int, c_uint, iovec, off_t, size_t, ssize_t};

use super::fail;
use crate::descriptors::errors::take_error;
use crate::real::real;
use crate::write_queue::drain;

macro_rules! telling {
    ($($of:ident: $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            drain();
            if let Some(error) = take_error($of) {
                return fail(error) as $result;
            }
            // SAFETY: the caller's promises are handed on.
            unsafe { real!($name($($argument),*; $($kind),*) -> $result) }
        }
    )+ };
}

telling! {
    descriptor: readv(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    descriptor: preadv(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t;
    descriptor: preadv64(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t;
    descriptor: preadv2(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t, flags: c_int) -> ssize_t;
    descriptor: preadv64v2(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t, flags: c_int) -> ssize_t;
    descriptor: writev(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    descriptor: pwritev(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t;
    descriptor: pwritev64(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t) -> ssize_t;
    descriptor: pwritev2(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t, flags: c_int) -> ssize_t;
    descriptor: pwritev64v2(descriptor: c_int, parts: *const iovec, count: c_int, at: off_t, flags: c_int) -> ssize_t;
    to: sendfile(to: c_int, from: c_int, at: *mut off_t, bytes: size_t) -> ssize_t;
    to: sendfile64(to: c_int, from: c_int, at: *mut off_t, bytes: size_t) -> ssize_t;
    to: copy_file_range(from: c_int, at: *mut off_t, to: c_int, to_at: *mut off_t, bytes: size_t, flags: c_uint) -> ssize_t;
    descriptor: fallocate(descriptor: c_int, mode: c_int, at: off_t, bytes: off_t) -> c_int;
    descriptor: fallocate64(descriptor: c_int, mode: c_int, at: off_t, bytes: off_t) -> c_int;
    descriptor: sync_file_range(descriptor: c_int, at: off_t, bytes: off_t, flags: c_uint) -> c_int;
}
