//! `omp_lock_t` and `omp_nest_lock_t`, of which only a word is used: the compilers' have that in common. libgomp's, since
//! OpenMP 3.0, are a word, and a word with a depth and an owner; LLVM's are a pointer each.

use std::ptr;

use libc::c_int;

use crate::frame::Frame;
use crate::here::here;
use crate::lock::Lock;
use crate::pool::own;

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

/// A lock with a hint how it will be used.
pub unsafe extern "C" fn init_lock_with_hint(lock: *mut Lock, _hint: c_int) {
    // SAFETY: as above.
    unsafe { init_lock(lock) };
}

/// A lock that its owner, a task, can take again. Its owner's thread keeps how often: clang's has no room for that. The
/// second word is 0, as in a lock of libgomp's that is not held.
#[derive(Debug)]
#[repr(C)]
pub struct NestLock {
    lock: Lock,
    depth: c_int,
}

/// A nested lock that a thread holds.
#[derive(Debug)]
pub struct Held {
    lock: *const NestLock,
    /// Its owner.
    task: *const Frame,
    depth: c_int,
}

impl NestLock {
    const fn free() -> Self {
        Self { lock: Lock::new(), depth: 0 }
    }
}

/// A lock that the running task holds, by its place among those of its thread.
fn find(lock: *const NestLock) -> Option<usize> {
    let task = ptr::from_ref(here().task());
    own().held.iter().position(|held| held.lock == lock && held.task == task)
}

/// Takes a lock, or fails if `get` does; returns the depth.
///
/// # Safety
/// The program's lock.
unsafe fn nest(lock: *const NestLock, get: impl FnOnce(&Lock) -> bool) -> c_int {
    if let Some(at) = find(lock) {
        let held = &mut own().held[at];
        held.depth += 1;
        return held.depth;
    }
    // SAFETY: as the caller promises.
    if !get(unsafe { &(*lock).lock }) {
        return 0;
    }
    own().held.push(Held { lock, task: here().task(), depth: 1 });
    1
}

pub unsafe extern "C" fn init_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program's lock.
    unsafe { lock.write(NestLock::free()) };
}

pub unsafe extern "C" fn init_nest_lock_with_hint(lock: *mut NestLock, _hint: c_int) {
    // SAFETY: as above.
    unsafe { init_nest_lock(lock) };
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
    if let Some(at) = find(lock) {
        let held = &mut own().held[at];
        held.depth -= 1;
        if held.depth > 0 {
            return;
        }
        own().held.swap_remove(at);
    }
    // SAFETY: as above; the caller holds it.
    unsafe { (*lock).lock.unlock() };
}

/// gfortran's nested lock has room for a pointer only, to one as libgomp lays it out.
type Indirect = *mut *mut [NestLock; 2];

pub unsafe extern "C" fn init_nest_lock_(lock: Indirect) {
    // SAFETY: the program's variable.
    unsafe { *lock = Box::into_raw(Box::new([const { NestLock::free() }; 2])) };
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
    unsafe { set_nest_lock((*lock).cast()) };
}

pub unsafe extern "C" fn unset_nest_lock_(lock: Indirect) {
    // SAFETY: as above.
    unsafe { unset_nest_lock((*lock).cast()) };
}

pub unsafe extern "C" fn test_nest_lock_(lock: Indirect) -> c_int {
    // SAFETY: as above.
    unsafe { test_nest_lock((*lock).cast()) }
}
