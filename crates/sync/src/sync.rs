//! The primitives under the barriers and the team. The model checker replaces this module, and nothing else
//! (`tests/models`).

pub(crate) use std::hint::spin_loop as relax;
pub(crate) use std::hint::spin_loop as pause;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;

pub(crate) use crate::doze::{can_doze, doze};
pub(crate) use crate::os::{Futex, cpu, leave, now, preemptions};

use std::sync::atomic::{compiler_fence, fence};

use crate::os;
use crate::wait::Reach;

/// Fetches a line for writing before a look at it. A look alone would fetch it for reading, and the thread's own next
/// store to it would fetch it again.
#[inline(always)]
pub(crate) fn claim(flag: &AtomicU8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint about a live byte; it changes no memory. It is written in assembly because the compiler's own
    // prefetch for writing becomes one for reading unless the target is known to have PREFETCHW.
    unsafe {
        std::arch::asm!("prefetchw [{0}]", in(reg) flag.as_ptr(), options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{0}]", in(reg) flag.as_ptr(), options(nostack, preserves_flags));
    }
    let _ = flag;
}

/// Passes a little time, a few cycles for each step, without touching shared lines.
#[inline(always)]
pub(crate) fn idle(steps: u32) {
    let mut left = steps;
    while left > 0 {
        left = std::hint::black_box(left) - 1;
    }
}

/// Looks before the clock is read for the first time. There is no PAUSE between them, to which hypervisors and siblings
/// on a core react.
pub(crate) fn first_looks() -> u32 {
    32
}

/// Looks between two readings of the clock.
pub(crate) const LOOKS: u32 = 64;

/// Whether the kernel can fence the other threads of this reach, so that arriving threads need no fence of their own.
pub(crate) fn can_fence_everybody(reach: Reach) -> bool {
    os::register_membarrier(reach)
}

/// Goes between a store and the check whether any thread sleeps for it. It only keeps the compiler from reordering, as
/// [`heavy_fence`] reaches into the other threads.
#[inline(always)]
pub(crate) fn light_fence() {
    compiler_fence(Ordering::SeqCst);
}

/// Goes between a thread's own step and its look at others' steps.
pub(crate) fn full_fence() {
    fence(Ordering::SeqCst);
}

/// Goes between a sleeper's registration and its last look; returns whether this and the light fence together are as
/// good as two full fences.
pub(crate) fn heavy_fence(reach: Reach) -> bool {
    fence(Ordering::SeqCst);
    os::fence_everybody(reach)
}
