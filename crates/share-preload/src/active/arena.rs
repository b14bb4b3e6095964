//! Memory for the library itself. It must not come from `malloc`: the program's threads are interrupted within it.
//! Little is needed, mostly once, so what is freed is used again only if it was the last.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::{give_back, reserve};

/// Addresses that are kept free for it; memory is used as far as it is touched.
const BYTES: usize = 32 << 20;

pub struct Arena {
    /// Its first address; 0 before the first use.
    base: AtomicUsize,
    used: AtomicUsize,
}

#[cfg_attr(not(test), global_allocator)]
static ARENA: Arena = Arena { base: AtomicUsize::new(0), used: AtomicUsize::new(0) };

impl Arena {
    fn base(&self) -> Option<usize> {
        let base = self.base.load(Relaxed);
        if base != 0 {
            return Some(base);
        }
        let mapped = reserve(BYTES)?;
        match self.base.compare_exchange(0, mapped.as_ptr() as usize, Relaxed, Relaxed) {
            Ok(_) => Some(mapped.as_ptr() as usize),
            Err(other) => {
                // Another thread was first.
                give_back(mapped, BYTES);
                Some(other)
            }
        }
    }
}

/// Zeros for the program, before the C library's functions are known; null if there is no room.
pub fn allocate(bytes: usize) -> *mut c_void {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 16) else { return ptr::null_mut() };
    // SAFETY: not of size 0; so many bytes were handed out.
    unsafe {
        let block = ARENA.alloc(layout);
        if !block.is_null() {
            block.write_bytes(0, bytes);
        }
        block.cast()
    }
}

/// Whether a block is the library's.
pub fn has(block: *mut c_void) -> bool {
    let base = ARENA.base.load(Relaxed);
    base != 0 && (block as usize).wrapping_sub(base) < BYTES
}

/// Bytes from one of its addresses to the end of what is in use.
pub fn left(block: *mut c_void) -> usize {
    (ARENA.base.load(Relaxed) + ARENA.used.load(Relaxed)).saturating_sub(block as usize)
}

// SAFETY: every part is handed out once, until it is freed.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(base) = self.base() else { return ptr::null_mut() };
        let end = |used: usize| {
            let start = (base + used).next_multiple_of(layout.align());
            (start, start.checked_add(layout.size()).filter(|end| end - base <= BYTES))
        };
        let taken = self.used.fetch_update(Relaxed, Relaxed, |used| end(used).1.map(|end| end - base));
        taken.map_or(ptr::null_mut(), |before| end(before).0 as *mut u8)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let start = pointer as usize - self.base.load(Relaxed);
        let _ = self.used.compare_exchange(start + layout.size(), start, Relaxed, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_the_last_is_used_again() {
        let arena = Arena { base: AtomicUsize::new(0), used: AtomicUsize::new(0) };
        let layout = |bytes, align| Layout::from_size_align(bytes, align).unwrap();
        // SAFETY: as the allocator is to be used.
        unsafe {
            let one = arena.alloc(layout(3, 1));
            let two = arena.alloc(layout(64, 64));
            assert!(two as usize >= one as usize + 3 && (two as usize).is_multiple_of(64));
            arena.dealloc(one, layout(3, 1));
            let three = arena.alloc(layout(8, 8));
            assert_eq!(three as usize, two as usize + 64);
            arena.dealloc(three, layout(8, 8));
            assert_eq!(arena.alloc(layout(16, 8)), three);
            assert!(arena.alloc(layout(BYTES, 1)).is_null());
        }
    }
}
