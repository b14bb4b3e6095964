//! Whether the kernel counts events for this process.

use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::null_mut;

use perf_event_open_sys::{bindings as perf, perf_event_open};

fn open(kind: u32, config: u32, with_kernel: bool) -> Result<File, String> {
    let mut attributes = perf::perf_event_attr { type_: kind, config: config.into(), ..Default::default() };
    attributes.size = size_of_val(&attributes) as u32;
    attributes.set_exclude_kernel((!with_kernel).into());
    attributes.set_exclude_hv(1);
    // SAFETY: the attributes are whole and say how long they are.
    match unsafe { perf_event_open(&raw mut attributes, 0, -1, -1, 0) } {
        -1 => Err(format!("perf_event_open: {}", Error::last_os_error())),
        // SAFETY: the kernel has just given this descriptor to us.
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}

/// An event that the kernel counts in software.
pub(crate) fn software() -> Result<(), String> {
    open(perf::PERF_TYPE_SOFTWARE, perf::PERF_COUNT_SW_PAGE_FAULTS, false).map(drop)
}

/// The same, counted in kernel mode.
pub(crate) fn of_the_kernel() -> Result<(), String> {
    open(perf::PERF_TYPE_SOFTWARE, perf::PERF_COUNT_SW_PAGE_FAULTS, true).map(drop)
}

fn instructions() -> Result<File, String> {
    open(perf::PERF_TYPE_HARDWARE, perf::PERF_COUNT_HW_INSTRUCTIONS, false)
}

/// A hardware counter that moves.
pub(crate) fn hardware() -> Result<(), String> {
    let mut count = [0; 8];
    let read = instructions()?.read(&mut count).map_err(|error| format!("reading a counter: {error}"))?;
    let counts = read == count.len() && u64::from_ne_bytes(count) > 0;
    counts.then_some(()).ok_or_else(|| "the counter of instructions stands still".into())
}

/// The same, if the kernel says that user mode may read it.
pub(crate) fn read_in_user_mode() -> Result<(), String> {
    hardware()?;
    let counter = instructions()?;
    let bytes = size_of::<perf::perf_event_mmap_page>();
    // SAFETY: a new mapping, which nobody else knows, of an open descriptor.
    let page =
        unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, counter.as_raw_fd(), 0) };
    if page == libc::MAP_FAILED {
        return Err(format!("mapping a counter's page: {}", Error::last_os_error()));
    }
    // SAFETY: the mapping holds such a page, which the kernel keeps valid; it is not used afterwards.
    let readable = unsafe {
        let page_ref = page.cast::<perf::perf_event_mmap_page>();
        let readable = (*page_ref).__bindgen_anon_1.__bindgen_anon_1.cap_user_rdpmc() == 1;
        libc::munmap(page, bytes);
        readable
    };
    readable.then_some(()).ok_or_else(|| "the kernel lets user mode read no counter".into())
}
