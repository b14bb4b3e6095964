//! Copies of a result, one of each member, which the last member to end its group adds up.

use std::ffi::c_void;
use std::ptr;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::check;
use crate::reduction::{Copies, Item, Reduction};

/// A copy leads to a cell, so that loom checks who reads and writes it.
type Copy = *const UnsafeCell<u64>;

/// # Safety
/// A number and a member's copy.
unsafe extern "C" fn add(sum: *mut c_void, copy: *mut c_void) {
    // SAFETY: as the caller promises; loom checks that nobody writes the cell at the same time.
    unsafe { *sum.cast::<u64>() += (**copy.cast::<Copy>()).with(|part| *part) };
}

struct Shared {
    copies: std::sync::Arc<Copies>,
    parts: [UnsafeCell<u64>; 2],
}

// SAFETY: loom itself checks every access.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn work(&self, rank: usize, sum: usize) {
        let sum: *mut c_void = ptr::with_exposed_provenance_mut(sum);
        let item = Item {
            shared: sum,
            original: sum,
            bytes: size_of::<Copy>(),
            begin: None,
            end: None,
            combine: add,
        };
        let reduction = Reduction::shared([item].into(), std::sync::Arc::clone(&self.copies), 2);
        let copy = reduction.copy(sum, rank).unwrap();
        // SAFETY: the copy has room for it, and is this member's.
        unsafe { *copy.cast::<Copy>() = &raw const self.parts[rank] };
        // SAFETY: loom checks.
        self.parts[rank].with_mut(|part| unsafe { *part += 1 << (8 * rank) });
        assert_eq!(reduction.copy(copy, rank), Some(copy));
        reduction.end();
    }
}

#[test]
fn the_last_member_adds_up_all_copies_once() {
    check(3, || {
        let mut sum: u64 = 1 << 16;
        let address = (&raw mut sum).expose_provenance();
        let parts = [UnsafeCell::new(0), UnsafeCell::new(0)];
        let copies = std::sync::Arc::new(Copies::new(1, 2));
        let shared = loom::sync::Arc::new(Shared { copies, parts });
        let other = {
            let shared = loom::sync::Arc::clone(&shared);
            thread::spawn(move || shared.work(1, address))
        };
        shared.work(0, address);
        other.join().unwrap();
        // SAFETY: both have ended.
        assert_eq!(unsafe { (&raw const sum).read() }, (1 << 16) + (1 << 8) + 1);
    });
}
