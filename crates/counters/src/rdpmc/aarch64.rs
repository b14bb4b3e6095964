//! The counters' registers, PMEVCNTRn_EL0 and PMCCNTR_EL0.

use std::arch::asm;
use std::sync::atomic;
use std::sync::atomic::Ordering::Acquire;

use perf_event_open_sys::bindings::perf_event_mmap_page;

use crate::perf::CAP_USER_RDPMC;

/// The registers' name.
pub(crate) const INSTRUCTION: &str = "PMEVCNTRn_EL0";
/// What lets user mode use them.
pub(crate) const HOW_TO_PERMIT: &str = "for a hardware event `sysctl kernel.perf_user_access=1`";
/// What `config1` must contain so that user mode may read: the PMU's format `rdpmc`.
pub(crate) const CONFIG1: u64 = 1 << 1;

/// The cycle counter's number: the page's index less one.
const CYCLES: u32 = 31;

/// The count of the event whose page this is; `None` if the page says that user mode cannot read it now.
///
/// # Safety
/// There must be a `perf_event_mmap_page` at `page`.
#[inline(always)]
pub(crate) unsafe fn protocol(page: *const perf_event_mmap_page) -> Option<u64> {
    // SAFETY: the caller vouches for the page; the kernel changes it meanwhile, hence volatile reads. A counter is
    // read only if the page permits it and names it.
    unsafe {
        loop {
            let lock = (&raw const (*page).lock).read_volatile();
            atomic::fence(Acquire);
            let capabilities = (&raw const (*page).__bindgen_anon_1.capabilities).read_volatile();
            let index = (&raw const (*page).index).read_volatile();
            if capabilities & CAP_USER_RDPMC == 0 || index == 0 {
                return None;
            }
            let offset = (&raw const (*page).offset).read_volatile();
            let raw = counter(index - 1);
            let unused = 0u32.wrapping_sub((&raw const (*page).pmc_width).read_volatile().into());
            let count = raw.wrapping_shl(unused).cast_signed().wrapping_shr(unused);
            atomic::fence(Acquire);
            if lock == (&raw const (*page).lock).read_volatile() {
                return Some(offset.wrapping_add(count).cast_unsigned());
            }
        }
    }
}

/// The bare counter; 0 for a number that no register has.
///
/// # Safety
/// `number` must be a counter of this CPU and the kernel must let this process read counters; otherwise SIGILL.
#[inline(always)]
pub(crate) unsafe fn counter(number: u32) -> u64 {
    macro_rules! read {
        ($($part:literal)*) => {{
            let count: u64;
            // SAFETY: the caller vouches for the counter.
            unsafe { asm!(concat!("mrs {}, " $(, $part)*), out(reg) count, options(nostack)) };
            count
        }};
    }
    macro_rules! registers {
        ($($number:literal)*) => {
            match number {
                $($number => read!("pmevcntr" $number "_el0"),)*
                CYCLES => read!("pmccntr_el0"),
                _ => 0,
            }
        };
    }
    registers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
}

/// Waits until all work before it is done, and lets none after it begin.
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: barriers without arguments.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}

/// User mode has no instruction that exits under every hypervisor.
pub(crate) fn exit() -> Option<fn() -> u64> {
    None
}
