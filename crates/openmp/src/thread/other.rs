//! As the compiler reaches it.

use std::cell::UnsafeCell;

use super::BYTES;

#[repr(align(16))]
struct Storage(UnsafeCell<[u8; BYTES]>);

thread_local! {
    static STORAGE: Storage = const { Storage(UnsafeCell::new([0; BYTES])) };
}

#[inline(always)]
pub fn address() -> *mut u8 {
    STORAGE.with(|storage| storage.0.get().cast())
}
