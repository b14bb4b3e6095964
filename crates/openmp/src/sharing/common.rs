//! Memory that the members of a team share while they are in a construct; compilers use it for `scan` and conditional
//! `lastprivate`.

use std::alloc::{self, Layout};
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use libc::c_void;

use crate::here::Membership;

/// A cache line; no type needs more.
const ALIGN: usize = 64;

/// Before the memory itself.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Common {
    /// The layout of the whole allocation.
    layout: Layout,
    /// Members that no longer need it.
    left: AtomicUsize,
}

const _: () = assert!(align_of::<Common>() == ALIGN && size_of::<Common>() == ALIGN);

impl Common {
    /// Zeros.
    fn new(bytes: usize) -> *mut Self {
        let layout = bytes.checked_add(ALIGN).and_then(|all| Layout::from_size_align(all, ALIGN).ok());
        let layout = layout.unwrap_or_else(|| alloc::handle_alloc_error(Layout::new::<Self>()));
        // SAFETY: it is not empty.
        let common = unsafe { alloc::alloc_zeroed(layout) }.cast::<Self>();
        if common.is_null() {
            alloc::handle_alloc_error(layout);
        }
        // SAFETY: there is room for it.
        unsafe { common.write(Self { layout, left: AtomicUsize::new(0) }) };
        common
    }

    /// A member no longer uses it; the last of so many frees it.
    ///
    /// # Safety
    /// The member has not left it.
    pub unsafe fn leave(common: *mut Self, members: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            if (*common).left.fetch_add(1, AcqRel) + 1 == members as usize {
                Self::free(common);
            }
        }
    }

    /// # Safety
    /// No member uses it any more.
    unsafe fn free(common: *mut Self) {
        // SAFETY: it was made with that layout.
        unsafe { alloc::dealloc(common.cast(), (*common).layout) };
    }

    /// # Safety
    /// It has not been freed.
    pub unsafe fn memory(common: *mut Self) -> *mut c_void {
        // SAFETY: the memory lies behind.
        unsafe { common.add(1).cast() }
    }
}

impl Membership {
    /// Memory of this many bytes, initially zeros, which all members in the same construct get, until the last of them
    /// has [left](Self::leave_common) it. The member must not be in a construct yet.
    pub fn enter_common(&self, bytes: usize) -> *mut c_void {
        let common = self.meet_common(bytes);
        self.sharing.common.set(common);
        // SAFETY: this member has not left it.
        unsafe { Common::memory(common) }
    }

    /// Such memory, which each member has to [leave](Common::leave).
    pub fn meet_common(&self, bytes: usize) -> *mut Common {
        // They meet in a construct before this one, as the counts of this one are in use.
        self.member().map_or_else(
            || Common::new(bytes),
            |member| {
                let meeting = member.enter();
                let common = meet(meeting.taken(), bytes);
                member.leave(meeting);
                common
            },
        )
    }

    /// The memory of the construct that it is in, if there is any.
    pub fn common(&self) -> Option<*mut c_void> {
        let common = self.sharing.common.get();
        // SAFETY: this member has not left it.
        (!common.is_null()).then(|| unsafe { Common::memory(common) })
    }

    /// Leaves it, if there is any; the last member to leave frees it.
    #[inline]
    pub fn leave_common(&self) {
        if !self.sharing.common.get().is_null() {
            self.leave_some();
        }
    }

    #[cold]
    fn leave_some(&self) {
        let common = self.sharing.common.replace(ptr::null_mut());
        // SAFETY: this member has not left it.
        unsafe { Common::leave(common, self.size()) };
    }
}

/// The memory that the first member has allocated; its address is stored in `address`.
fn meet(address: &AtomicUsize, bytes: usize) -> *mut Common {
    let there = address.load(Acquire);
    if there != 0 {
        return ptr::with_exposed_provenance_mut(there);
    }
    let own = Common::new(bytes);
    match address.compare_exchange(0, own.expose_provenance(), AcqRel, Acquire) {
        Ok(_) => own,
        Err(others) => {
            // SAFETY: nobody else has seen it.
            unsafe { Common::free(own) };
            ptr::with_exposed_provenance_mut(others)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn all_who_meet_get_the_same_zeros() {
        const MEMBERS: usize = 4;
        for bytes in [0, 1, 8, 1000] {
            let (address, barrier) = (AtomicUsize::new(0), Barrier::new(MEMBERS));
            let found: Vec<usize> = std::thread::scope(|scope| {
                let members: Vec<_> = (0..MEMBERS)
                    .map(|_| {
                        scope.spawn(|| {
                            barrier.wait();
                            meet(&address, bytes).expose_provenance()
                        })
                    })
                    .collect();
                members.into_iter().map(|member| member.join().unwrap()).collect()
            });
            assert_eq!(found, [address.load(Relaxed); MEMBERS]);
            let common: *mut Common = ptr::with_exposed_provenance_mut(found[0]);
            // SAFETY: nobody else has it any more.
            unsafe {
                let memory = Common::memory(common).cast::<u8>();
                assert_eq!(memory.addr() % ALIGN, 0);
                assert!(std::slice::from_raw_parts(memory, bytes).iter().all(|&byte| byte == 0));
                Common::free(common);
            }
        }
    }
}
