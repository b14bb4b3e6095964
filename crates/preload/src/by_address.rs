//! Values that are looked up by address, without a search: memory for them is addresses until it is touched.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// Addresses whose values lie together.
pub const REGION: usize = 64 << 20;
/// User mode's addresses end here.
const END: usize = 1 << 47;

/// Types of which zeros are a value that threads may share.
///
/// # Safety
/// That must be true.
pub unsafe trait Zeros: Sync {}

// SAFETY: zeros are its 0.
unsafe impl Zeros for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zeros for AtomicU64 {}

/// A value for each `STEP` bytes, zeros at first.
#[derive(Debug)]
pub struct ByAddress<T, const STEP: usize> {
    regions: [AtomicPtr<T>; END / REGION],
}

impl<T: Zeros + 'static, const STEP: usize> ByAddress<T, STEP> {
    /// How many a region has.
    const VALUES: usize = REGION / STEP;

    /// All zeros. For a `static`: it takes 16 MiB of addresses.
    #[allow(clippy::new_without_default, reason = "it is too large for any place but a static")]
    pub const fn new() -> Self {
        Self { regions: [const { AtomicPtr::new(ptr::null_mut()) }; END / REGION] }
    }

    /// The value of an address; `None` if none of its region was made.
    #[inline(always)]
    pub fn get(&self, address: usize) -> Option<&'static T> {
        let values = self.regions.get(address / REGION)?.load(Acquire);
        // SAFETY: a region is never unmapped, and has a value for each step of its addresses.
        (!values.is_null()).then(|| unsafe { &*values.add(address % REGION / STEP) })
    }

    /// The same, with the region's values made; `None` if there is no room.
    #[cold]
    pub fn make(&self, address: usize) -> Option<&'static T> {
        let region = self.regions.get(address / REGION)?;
        if region.load(Acquire).is_null() {
            let made = reserve(Self::VALUES * size_of::<T>())?;
            if region.compare_exchange(ptr::null_mut(), made.cast().as_ptr(), AcqRel, Acquire).is_err() {
                give_back(made, Self::VALUES * size_of::<T>());
            }
        }
        self.get(address)
    }
}

/// Addresses with zeros, memory as far as it is touched. By the system call, past every function of that name.
pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, whose address the kernel chooses.
    let mapped = unsafe { libc::syscall(libc::SYS_mmap, 0_u64, bytes, access, kind, -1_i64, 0_u64) };
    let mapped = mapped as *mut c_void;
    (mapped != libc::MAP_FAILED).then(|| NonNull::new(mapped.cast())).flatten()
}

/// Gives a reservation back that nobody knows of.
pub fn give_back(reserved: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's own mapping.
    unsafe { libc::syscall(libc::SYS_munmap, reserved.as_ptr(), bytes) };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn each_step_of_addresses_has_a_value_of_its_own() {
        static VALUES: ByAddress<AtomicU32, 64> = ByAddress::new();
        assert!(VALUES.get(0x1000).is_none());
        VALUES.make(0x1000).unwrap().store(7, Relaxed);
        let of = |address: usize| VALUES.get(address).map(|value| value.load(Relaxed));
        assert_eq!([0x1000, 0x103f, 0x1040, 0xfff].map(of), [Some(7), Some(7), Some(0), Some(0)]);
        assert_eq!((of(REGION), of(usize::MAX)), (None, None));
        assert!(VALUES.make(usize::MAX).is_none());
    }
}
