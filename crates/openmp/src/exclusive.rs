//! Work for one thread at a time or for one thread only: critical sections, atomic blocks, `single`, and the barrier.

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use libc::c_void;

use crate::here::here;
use crate::lock::Lock;

static CRITICAL: Lock = Lock::new();
static ATOMIC: Lock = Lock::new();

pub extern "C-unwind" fn barrier() {
    here().barrier();
}

pub extern "C" fn critical_start() {
    CRITICAL.lock();
}

pub extern "C" fn critical_end() {
    CRITICAL.unlock();
}

/// The compiler gives each name a word, 0 at first, which is the lock itself.
pub unsafe extern "C" fn critical_name_start(word: *mut *mut c_void) {
    // SAFETY: the compiler's; a pointer has room for a lock.
    unsafe { &*word.cast::<Lock>() }.lock();
}

pub unsafe extern "C" fn critical_name_end(word: *mut *mut c_void) {
    // SAFETY: as above.
    unsafe { &*word.cast::<Lock>() }.unlock();
}

pub extern "C" fn atomic_start() {
    ATOMIC.lock();
}

pub extern "C" fn atomic_end() {
    ATOMIC.unlock();
}

pub extern "C-unwind" fn single_start() -> bool {
    here().is_first()
}

/// Null for the member that must do the work; the others wait for what it hands over.
pub extern "C-unwind" fn single_copy_start() -> *mut c_void {
    let membership = here();
    if membership.is_first() {
        return ptr::null_mut();
    }
    membership.barrier();
    membership.region().copied.load(Relaxed)
}

pub extern "C-unwind" fn single_copy_end(data: *mut c_void) {
    let membership = here();
    membership.region().copied.store(data, Relaxed);
    membership.barrier();
}
