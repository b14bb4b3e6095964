//! A page like the kernel's, in plain memory.

use std::ptr::NonNull;

use perf_event_open_sys::bindings::perf_event_mmap_page;

use super::page::{CAP_USER_RDPMC, Page};

/// A page like the kernel's, in plain memory, of an event on the CPU's first counter: what reading in user mode takes
/// can be counted by it where there is nothing to read.
#[derive(Debug)]
pub struct StandIn(Box<perf_event_mmap_page>);

impl StandIn {
    /// Makes a page.
    ///
    /// # Safety
    /// Its [`page`](Self::page) may be read only where something answers for an RDPMC (on AArch64, a read of
    /// PMEVCNTR0_EL0) that the CPU refuses: a tracer or a signal handler. Otherwise the process dies of it.
    pub unsafe fn new() -> Self {
        let mut page: Box<perf_event_mmap_page> = Box::default();
        page.__bindgen_anon_1.capabilities = CAP_USER_RDPMC;
        page.index = 1;
        page.pmc_width = 48;
        Self(page)
    }

    /// The page, for as long as `self` lives.
    pub fn page(&self) -> Page {
        // SAFETY: the page is alive; its readers are the caller's of `new` to answer for.
        unsafe { Page::at(NonNull::from(&*self.0).cast()) }
    }
}
