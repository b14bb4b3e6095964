//! What the library keeps for each thread, as quickly accessible as possible: nearly every call begins there.
//!
//! The compiler reaches thread-local storage of a shared library by a function, which costs a short call as much as all the
//! rest. A library that is loaded with the program has its storage at a fixed distance from the thread's register instead.

use std::cell::Cell;

use crate::here::Membership;
use crate::pool::Own;

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "other.rs")]
mod storage;

/// Of a thread's storage.
const BYTES: usize = size_of::<Thread>();

// At a distance from the thread's register that the dynamic linker finds out when it loads the library.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
std::arch::global_asm!(
    ".pushsection .tbss.coho_openmp_thread, \"awT\", %nobits",
    ".p2align 4",
    ".hidden coho_openmp_thread",
    ".globl coho_openmp_thread",
    ".type coho_openmp_thread, %object",
    ".size coho_openmp_thread, {bytes}",
    "coho_openmp_thread:",
    ".zero {bytes}",
    ".popsection",
    bytes = const BYTES,
);

/// The calling thread's; all null when it begins.
#[repr(C)]
pub struct Thread {
    /// What it is in the innermost region.
    pub here: Cell<*const Membership>,
    /// What it keeps as long as it lives.
    pub own: Cell<*mut Own>,
}

const _: () = assert!(align_of::<Thread>() <= 16);

/// The calling thread's. It stays where it is until the thread has ended, and is not passed to others.
#[inline(always)]
pub fn this<'a>() -> &'a Thread {
    // SAFETY: the storage is as large, zeroed when a thread begins, and the thread's own; null pointers are zeros.
    unsafe { &*storage::address().cast::<Thread>() }
}

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
