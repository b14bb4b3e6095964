//! What the library keeps for each thread, as quickly accessible as possible: nearly every call begins there.

use std::cell::Cell;

use crate::here::Membership;
use crate::pool::Own;

/// The calling thread's; all null when it begins.
#[repr(C)]
pub struct Thread {
    /// What it is in the innermost region.
    pub here: Cell<*const Membership>,
    /// What it keeps as long as it lives.
    pub own: Cell<*mut Own>,
    /// One more than its number in compiled code; 0 until it is asked for.
    pub number: Cell<i32>,
    /// Whether the program's own runtime has given it a number, too.
    pub has_own_number: Cell<bool>,
    /// Whether it asks the program's own runtime, whose functions may call others of its own.
    pub asks_own: Cell<bool>,
}

coho_preload::thread_storage!("coho_openmp_thread", Thread);

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn each_thread_has_its_own_which_begins_empty() {
        let mine = this();
        let before = mine.here.replace(ptr::without_provenance(16));
        let other = std::thread::spawn(|| {
            (this().here.get().is_null(), this().own.get().is_null(), ptr::from_ref(this()).addr())
        });
        let (no_here, no_own, address) = other.join().unwrap();
        assert!(no_here && no_own);
        assert_ne!(address, ptr::from_ref(mine).addr());
        assert_eq!(this().here.replace(before).addr(), 16);
    }
}
