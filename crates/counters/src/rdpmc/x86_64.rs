//! RDPMC.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, _mm_lfence};
use std::mem::offset_of;

use perf_event_open_sys::bindings::perf_event_mmap_page;

use crate::perf::CAP_USER_RDPMC;

/// The instruction's name.
pub(crate) const INSTRUCTION: &str = "RDPMC";
/// What lets user mode use it.
pub(crate) const HOW_TO_PERMIT: &str = "for a hardware event see /sys/devices/cpu/rdpmc";
/// What `config1` must contain so that user mode may read.
pub(crate) const CONFIG1: u64 = 0;

/// The count of the event whose page this is; `None` if the page says that user mode cannot read it now.
///
/// One block of assembly, so that it is the same 18 instructions in every build and nothing gets in between.
///
/// # Safety
/// There must be a `perf_event_mmap_page` at `page`.
#[inline(always)]
pub(crate) unsafe fn protocol(page: *const perf_event_mmap_page) -> Option<u64> {
    let count: u64;
    let readable: u32;
    // SAFETY: only reads the page, which the caller vouches for. RDPMC is reached only if the page permits it and
    // names a counter. x86 keeps loads in order, as the sequence lock needs.
    unsafe {
        asm!(
            "2:",
            "mov {lock:e}, [{page} + {LOCK}]",
            "xor ecx, ecx",
            "test byte ptr [{page} + {CAPABILITIES}], {CAP_USER_RDPMC}",
            "jz 3f",
            "mov ecx, [{page} + {INDEX}]",
            "jecxz 3f",
            "dec ecx",
            "mov {count}, [{page} + {OFFSET}]",
            "rdpmc",
            "shl rdx, 32",
            "or rax, rdx",
            // The shift is 64 - pmc_width, of which the CPU takes the last six bits.
            "movzx ecx, word ptr [{page} + {PMC_WIDTH}]",
            "neg ecx",
            "shl rax, cl",
            "sar rax, cl",
            "add {count}, rax",
            "cmp {lock:e}, [{page} + {LOCK}]",
            "jne 2b",
            "3:",
            page = in(reg) page,
            lock = out(reg) _,
            count = out(reg) count,
            // 0 if the page cannot be read, otherwise the negative of a width.
            out("ecx") readable,
            out("eax") _,
            out("edx") _,
            LOCK = const offset_of!(perf_event_mmap_page, lock),
            CAPABILITIES = const offset_of!(perf_event_mmap_page, __bindgen_anon_1),
            CAP_USER_RDPMC = const CAP_USER_RDPMC,
            INDEX = const offset_of!(perf_event_mmap_page, index),
            OFFSET = const offset_of!(perf_event_mmap_page, offset),
            PMC_WIDTH = const offset_of!(perf_event_mmap_page, pmc_width),
            options(nostack),
        );
    }
    (readable != 0).then_some(count)
}

/// The bare counter.
///
/// # Safety
/// `number` must be a counter of this CPU and the kernel must let this process read counters; otherwise SIGSEGV.
#[inline(always)]
pub(crate) unsafe fn counter(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller vouches for the counter. The block is not marked `nomem`, so that the reading stays where the
    // program has it.
    unsafe { asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Waits until all work before it is done, and lets none after it begin.
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: LFENCE exists on every x86-64 CPU.
    unsafe { _mm_lfence() };
}

/// An instruction that exits under every hypervisor.
pub(crate) fn exit() -> Option<fn() -> u64> {
    // CPUID is unprivileged and exists on every x86-64 CPU.
    #[allow(unused_unsafe)]
    // SAFETY: as above.
    Some(|| u64::from(unsafe { __cpuid(0) }.eax))
}
