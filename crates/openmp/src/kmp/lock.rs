//! Locks as some compilers' code calls them: the program's, after a place and the thread's number.

use libc::{c_int, c_void};

use crate::lock::Lock;
use crate::query::{self, NestLock};

macro_rules! locks {
    ($($name:ident = $of:ident($lock:ty) $(-> $result:ty)?;)*) => { $(
        pub unsafe extern "C" fn $name(_place: *const c_void, _number: c_int, lock: *mut $lock) $(-> $result)? {
            // SAFETY: the compiler's.
            unsafe { query::$of(lock) }
        }
    )* };
}

locks! {
    init_lock = init_lock(Lock);
    set_lock = set_lock(Lock);
    unset_lock = unset_lock(Lock);
    test_lock = test_lock(Lock) -> c_int;
    init_nest_lock = init_nest_lock(NestLock);
    set_nest_lock = set_nest_lock(NestLock);
    unset_nest_lock = unset_nest_lock(NestLock);
    test_nest_lock = test_nest_lock(NestLock) -> c_int;
}
