//! The page through which the kernel lets user mode read a counter.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering::Acquire, fence};

use perf_event_open_sys::bindings::perf_event_mmap_page;

use crate::{Lost, rdpmc};

/// `cap_user_rdpmc` among the page's capabilities.
pub(crate) const CAP_USER_RDPMC: u64 = 1 << 2;

/// The first page of an event's mapping, through which user mode reads the event without entering the kernel.
///
/// The page holds a sequence lock, the number of the hardware counter, and what to add to it. Use it for events that
/// other software has opened; [`Counter`](crate::Counter) has its own. It belongs to the thread that is counted.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    page: NonNull<perf_event_mmap_page>,
    of_one_thread: PhantomData<*const ()>,
}

impl Page {
    /// The page at an address.
    ///
    /// # Safety
    /// There must be a `perf_event_mmap_page` at `page` for as long as the value or a copy of it is used: normally the
    /// first page of a mapping of a perf event's file descriptor.
    pub const unsafe fn at(page: NonNull<c_void>) -> Self {
        Self { page: page.cast(), of_one_thread: PhantomData }
    }

    /// The event's count, read in user mode: on x86-64 20 instructions, including the caller's test of the result.
    ///
    /// # Errors
    /// [`Lost`] if the page says that user mode may not or cannot read the event now.
    #[inline(always)]
    pub fn read(&self) -> Result<u64, Lost> {
        loop {
            // SAFETY: `at` requires the page; the page itself says when a counter may be read.
            if let Some(count) = unsafe { rdpmc::protocol(self.page.as_ptr()) } {
                return Ok(count);
            }
            if let Some(lost) = self.why_lost() {
                return Err(lost);
            }
        }
    }

    /// Why the event cannot be read; `None` if it now can.
    #[cold]
    fn why_lost(&self) -> Option<Lost> {
        let page = self.page.as_ptr();
        loop {
            // SAFETY: `at` requires the page. The kernel changes it meanwhile, hence volatile reads.
            unsafe {
                let lock = (&raw const (*page).lock).read_volatile();
                fence(Acquire);
                let capabilities = (&raw const (*page).__bindgen_anon_1.capabilities).read_volatile();
                let index = (&raw const (*page).index).read_volatile();
                fence(Acquire);
                if lock != (&raw const (*page).lock).read_volatile() {
                    continue;
                }
                return match (capabilities & CAP_USER_RDPMC, index) {
                    (0, _) => Some(Lost::NotPermitted),
                    (_, 0) => Some(Lost::NotCounting),
                    _ => None,
                };
            }
        }
    }

    /// The number of the hardware counter that the event is on, for the bare instruction.
    pub(crate) fn hardware_counter(&self) -> Result<u32, Lost> {
        if let Some(lost) = self.why_lost() {
            return Err(lost);
        }
        // SAFETY: `at` requires the page.
        let index = unsafe { (&raw const (*self.page.as_ptr()).index).read_volatile() };
        index.checked_sub(1).ok_or(Lost::NotCounting)
    }

    pub(super) fn as_ptr(self) -> *mut c_void {
        self.page.as_ptr().cast()
    }
}
