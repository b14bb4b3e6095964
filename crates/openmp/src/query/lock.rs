//! `omp_lock_t`, a word, and `omp_nest_lock_t`, a word with a depth and an owner, as libgomp lays them out since OpenMP 3.0.

use std::ptr;

use libc::{c_int, c_void};

use crate::here::here;
use crate::lock::Lock;

pub unsafe extern "C" fn init_lock(lock: *mut Lock) {
    // SAFETY: the program's lock.
    unsafe { lock.write(Lock::new()) };
}

pub extern "C" fn destroy_lock(_lock: *mut Lock) {}

pub unsafe extern "C" fn set_lock(lock: *mut Lock) {
    // SAFETY: as above.
    unsafe { &*lock }.lock();
}

pub unsafe extern "C" fn unset_lock(lock: *mut Lock) {
    // SAFETY: as above.
    unsafe { &*lock }.unlock();
}

pub unsafe extern "C" fn test_lock(lock: *mut Lock) -> c_int {
    // SAFETY: as above.
    unsafe { &*lock }.try_lock().into()
}

/// A lock that its owner, a task, can take again.
#[repr(C)]
pub struct NestLock {
    lock: Lock,
    depth: c_int,
    owner: *mut c_void,
}

impl NestLock {
    const fn free() -> Self {
        Self { lock: Lock::new(), depth: 0, owner: ptr::null_mut() }
    }
}

/// Takes a lock, or fails if `get` does; returns the depth.
///
/// # Safety
/// The program's lock.
unsafe fn nest(lock: *mut NestLock, get: impl FnOnce(&Lock) -> bool) -> c_int {
    let task = ptr::from_ref(here().task()).cast_mut().cast::<c_void>();
    // SAFETY: as the caller promises. The owner is this task only if this task has written it; the rest is written by who
    // holds the lock.
    unsafe {
        if (&raw const (*lock).owner).read_volatile() != task {
            if !get(&(*lock).lock) {
                return 0;
            }
            (&raw mut (*lock).owner).write_volatile(task);
        }
        (*lock).depth += 1;
        (*lock).depth
    }
}

pub unsafe extern "C" fn init_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program's lock.
    unsafe { lock.write(NestLock::free()) };
}

pub extern "C" fn destroy_nest_lock(_lock: *mut NestLock) {}

pub unsafe extern "C" fn set_nest_lock(lock: *mut NestLock) {
    let get = |lock: &Lock| {
        lock.lock();
        true
    };
    // SAFETY: the program's lock.
    unsafe { nest(lock, get) };
}

pub unsafe extern "C" fn test_nest_lock(lock: *mut NestLock) -> c_int {
    // SAFETY: as above.
    unsafe { nest(lock, Lock::try_lock) }
}

pub unsafe extern "C" fn unset_nest_lock(lock: *mut NestLock) {
    // SAFETY: as above; the caller holds it.
    unsafe {
        (*lock).depth -= 1;
        if (*lock).depth == 0 {
            (&raw mut (*lock).owner).write_volatile(ptr::null_mut());
            (*lock).lock.unlock();
        }
    }
}

/// Fortran's nested lock has room for a pointer only.
type Indirect = *mut *mut NestLock;

pub unsafe extern "C" fn init_nest_lock_(lock: Indirect) {
    // SAFETY: the program's variable.
    unsafe { *lock = Box::into_raw(Box::new(NestLock::free())) };
}

pub unsafe extern "C" fn destroy_nest_lock_(lock: Indirect) {
    // SAFETY: made by `init_nest_lock_`, and not used any more.
    unsafe {
        drop(Box::from_raw(*lock));
        *lock = ptr::null_mut();
    }
}

pub unsafe extern "C" fn set_nest_lock_(lock: Indirect) {
    // SAFETY: made by `init_nest_lock_`.
    unsafe { set_nest_lock(*lock) };
}

pub unsafe extern "C" fn unset_nest_lock_(lock: Indirect) {
    // SAFETY: as above.
    unsafe { unset_nest_lock(*lock) };
}

pub unsafe extern "C" fn test_nest_lock_(lock: Indirect) -> c_int {
    // SAFETY: as above.
    unsafe { test_nest_lock(*lock) }
}
