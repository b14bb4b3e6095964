//! What the barriers and the team rest on. The model checker replaces this module, and nothing else
//! (`tests/models`).

pub(crate) use std::hint::spin_loop as relax;
pub(crate) use std::hint::spin_loop as pause;
pub(crate) use std::sync::Mutex;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
pub(crate) use std::thread::yield_now;

pub(crate) use crate::doze::{can_doze, doze};
pub(crate) use crate::os::{Futex, now};

use std::sync::Once;
use std::sync::atomic::{compiler_fence, fence};

use crate::os;
use crate::padded::Padded;

/// How long a look is to be from the next, in ns, where looking disturbs.
const APART_NS: u64 = 40;

/// PAUSEs that take about so long: one or a few, as one takes from 10 cycles to 140.
static PAUSES: Padded<AtomicU8> = Padded(AtomicU8::new(1));

/// Waits for [`APART_NS`].
#[inline(always)]
pub(crate) fn long_pause() {
    for _ in 0..PAUSES.load(Ordering::Relaxed) {
        pause();
    }
}

/// Finds out how long a PAUSE takes; the quickest of some tries, as others may be interrupted.
fn measure_pause() {
    const TRIES: usize = 4;
    const PAUSES_A_TRY: u64 = 32;
    let ns_of_try = |_| {
        let start = now();
        (0..PAUSES_A_TRY).for_each(|_| pause());
        now() - start
    };
    let ns = (0..TRIES).map(ns_of_try).min().unwrap_or(0);
    let pauses = (APART_NS * PAUSES_A_TRY + ns / 2).checked_div(ns).unwrap_or(1);
    PAUSES.store(pauses.clamp(1, 8) as u8, Ordering::Relaxed);
}

/// Looks before the clock is read for the first time.
pub(crate) fn first_looks() -> u32 {
    128
}

/// Looks between two readings of the clock.
pub(crate) const LOOKS: u32 = 64;

/// Whether the kernel fences the other threads, so that those who arrive need no fence of their own.
static ASYMMETRIC: Padded<AtomicBool> = Padded(AtomicBool::new(false));

/// To be called before threads meet.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(measure_pause);
    if os::register_membarrier() {
        ASYMMETRIC.store(true, Ordering::Relaxed);
    }
}

/// Between a store and the look whether somebody sleeps for it: nothing but the compiler's order where
/// [`heavy_fence`] reaches into the other threads.
#[inline(always)]
pub(crate) fn light_fence() {
    if ASYMMETRIC.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Between saying that one sleeps and the last look; returns whether the two fences together are as good as two full
/// ones.
pub(crate) fn heavy_fence() -> bool {
    fence(Ordering::SeqCst);
    !ASYMMETRIC.load(Ordering::Relaxed) || os::fence_everybody()
}
