//! A page like the kernel's, in plain memory.

use std::ptr::NonNull;

use perf_event_open_sys::bindings::perf_event_mmap_page;

use super::page::{CAP_USER_RDPMC, Page};

/// A page like the kernel's, in plain memory, of an event on the CPU's first counter. With it, the cost of reading in
/// user mode can be counted even if there is no counter to read.
#[derive(Debug)]
pub struct StandIn(Box<perf_event_mmap_page>);

impl StandIn {
    /// Makes a page.
    ///
    /// # Safety
    /// Its [`page`](Self::page) may be read only if a tracer or a signal handler emulates the RDPMC (on AArch64, the
    /// read of PMEVCNTR0_EL0) that the CPU refuses. Otherwise the process is killed.
    pub unsafe fn new() -> Self {
        let mut page: Box<perf_event_mmap_page> = Box::default();
        page.__bindgen_anon_1.capabilities = CAP_USER_RDPMC;
        page.index = 1;
        page.pmc_width = 48;
        Self(page)
    }

    /// The page, for as long as `self` lives.
    pub fn page(&self) -> Page {
        // SAFETY: the page is alive; the caller of `new` is responsible for its readers.
        unsafe { Page::at(NonNull::from(&*self.0).cast()) }
    }
}
