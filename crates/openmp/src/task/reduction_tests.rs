//! Copies are added up once. Apart, as the model checker takes the file that this tests.

use std::ptr;
use std::sync::Arc;

use libc::c_void;

use super::reduction::*;

unsafe extern "C" fn begin(copy: *mut c_void, original: *mut c_void) {
    // SAFETY: the test's.
    unsafe { *copy.cast::<u64>() = *original.cast::<u64>() };
}

unsafe extern "C" fn add(to: *mut c_void, copy: *mut c_void) {
    // SAFETY: as above.
    unsafe { *to.cast::<u64>() += *copy.cast::<u64>() };
}

#[test]
fn members_copies_are_added_up_by_the_last_group() {
    let (mut first, mut second, mut one) = (100_u64, 1000_u64, 1_u64);
    let item = |shared: &mut u64, original: &mut u64| Item {
        shared: ptr::from_mut(shared).cast(),
        original: ptr::from_mut(original).cast(),
        bytes: 8,
        begin: Some(begin),
        end: None,
        combine: add,
    };
    let copies = Arc::new(Copies::new(1, 2));
    let address = ptr::from_mut(&mut first).cast();
    let one_ = Reduction::shared([item(&mut first, &mut one)].into(), Arc::clone(&copies), 2);
    let two = Reduction::shared([item(&mut second, &mut one)].into(), copies, 2);
    let copy = one_.copy(address, 0).unwrap();
    assert_ne!(copy, address);
    assert_eq!(two.copy(copy, 0), Some(copy), "known by a copy's address");
    let other = two.copy(copy, 1).unwrap();
    // SAFETY: the copies are alive.
    unsafe {
        *copy.cast::<u64>() += 5;
        *other.cast::<u64>() += 7;
    }
    assert_eq!(one_.copy(ptr::null_mut(), 0), None);
    one_.end();
    assert_eq!((first, second), (100, 1000));
    two.end();
    assert_eq!((first, second), (100, 1000 + 6 + 8));
}
