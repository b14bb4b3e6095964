//! What gives memory, and takes it.

use libc::{
    MAP_ANONYMOUS, MAP_FAILED, MAP_SHARED, MAP_SHARED_VALIDATE, MAP_TYPE, c_int, c_void, off_t, size_t,
};

use crate::real::real;
use crate::write_queue::drain;
use crate::{descriptors, ending, readable, state};

/// A file that memory shows is not written to later: who looks there makes no call.
pub fn before_map(flags: c_int, descriptor: c_int) {
    drain();
    let shared = [MAP_SHARED, MAP_SHARED_VALIDATE].contains(&(flags & MAP_TYPE));
    if shared && flags & MAP_ANONYMOUS == 0 && !state::is_vforked() {
        if descriptors::share(descriptor) {
            // What another thread has begun to write meanwhile.
            drain();
        } else {
            ending::finish();
        }
    }
}

fn after_map(at: *mut c_void, bytes: size_t, flags: c_int) {
    if at != MAP_FAILED && flags & MAP_ANONYMOUS == 0 {
        readable::is_of_file(at as usize..at as usize + bytes);
    } else {
        readable::forget_all();
    }
}

macro_rules! mapping {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            at: *mut c_void,
            bytes: size_t,
            access: c_int,
            flags: c_int,
            descriptor: c_int,
            from: off_t,
        ) -> *mut c_void {
            before_map(flags, descriptor);
            // SAFETY: the caller's promises are handed on.
            let mapped = unsafe {
                real!($name(at, bytes, access, flags, descriptor, from;
                    *mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void)
            };
            after_map(mapped, bytes, flags);
            mapped
        }
    )+ };
}

mapping!(mmap mmap64);

macro_rules! changing {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            // SAFETY: the caller's promises are handed on.
            let result = unsafe { real!($name($($argument),*; $($kind),*) -> $result) };
            readable::forget_all();
            result
        }
    )+ };
}

changing! {
    munmap(at: *mut c_void, bytes: size_t) -> c_int;
    mprotect(at: *mut c_void, bytes: size_t, access: c_int) -> c_int;
    pkey_mprotect(at: *mut c_void, bytes: size_t, access: c_int, key: c_int) -> c_int;
    // The last argument is there if the flags say so; the kernel looks at it only then.
    mremap(at: *mut c_void, bytes: size_t, new_bytes: size_t, flags: c_int, to: *mut c_void) -> *mut c_void;
    shmdt(at: *const c_void) -> c_int;
    brk(end: *mut c_void) -> c_int;
    sbrk(bytes: isize) -> *mut c_void;
}
