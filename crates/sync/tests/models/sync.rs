//! The primitives under the barriers and the team, on the model checker: every interleaving, and weak memory.

use std::cell::Cell;
use std::time::Duration;

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
pub(crate) use loom::sync::{Mutex, MutexGuard};
pub(crate) use loom::thread::{yield_now, yield_now as pause};

use crate::wait::Reach;
use loom::sync::Condvar;
use loom::sync::atomic::fence;

pub(crate) const LOOKS: u32 = 1;

/// A planted mistake that the models must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// Flags are raised without releasing what was done before.
    RelaxedFlags,
}

thread_local! {
    // All threads of a model run on one thread of the system.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
    static FENCED: Cell<bool> = const { Cell::new(false) };
    static FIRST_LOOKS: Cell<u32> = const { Cell::new(1) };
}

pub(crate) fn claim(_: &AtomicU8) {}

pub(crate) fn idle(_: u32) {
    yield_now();
}

pub(crate) fn first_looks() -> u32 {
    FIRST_LOOKS.get()
}

/// After this many looks in vain a branch of the model is abandoned; fewer looks make the model weaker but tractable.
pub(crate) fn look(times: u32) {
    FIRST_LOOKS.set(times);
}

/// Whether there is a fence between a step and the look for sleepers. Only threads that may sleep need it, and it would
/// hide mistakes elsewhere.
pub(crate) fn fence_steps(fenced: bool) {
    FENCED.set(fenced);
}

pub(crate) fn make(mistake: Mistake) {
    MISTAKE.set(mistake);
}

/// Loom's byte, but for the mistake.
#[derive(Debug)]
pub(crate) struct AtomicU8(loom::sync::atomic::AtomicU8);

impl AtomicU8 {
    pub(crate) fn new(value: u8) -> Self {
        Self(loom::sync::atomic::AtomicU8::new(value))
    }

    pub(crate) fn load(&self, ordering: Ordering) -> u8 {
        self.0.load(ordering)
    }

    pub(crate) fn store(&self, value: u8, ordering: Ordering) {
        let relaxed = MISTAKE.get() == Mistake::RelaxedFlags;
        self.0.store(value, if relaxed { Ordering::Relaxed } else { ordering });
    }
}

/// A look in vain during a long wait. Looking again before another thread has moved adds nothing, so the branch is
/// abandoned.
pub(crate) fn relax() {
    loom::skip_branch();
    loom::thread::yield_now();
}

/// In a model no time passes.
pub(crate) fn now() -> u64 {
    0
}

/// A different one each time, as no threads share a CPU here.
pub(crate) fn cpu() -> u32 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

pub(crate) fn leave(_: u32) -> bool {
    false
}

pub(crate) fn preemptions() -> u64 {
    0
}

pub(crate) fn can_doze() -> bool {
    false
}

pub(crate) fn doze(_: &AtomicU8, _: &dyn Fn() -> bool) {}

pub(crate) fn can_fence_everybody(_: Reach) -> bool {
    true
}

pub(crate) fn light_fence() {
    if FENCED.get() {
        fence(Ordering::SeqCst);
    }
}

pub(crate) fn full_fence() {
    fence(Ordering::SeqCst);
}

pub(crate) fn heavy_fence(_: Reach) -> bool {
    fence(Ordering::SeqCst);
    true
}

/// A word to sleep on; what the kernel does under its own lock is done under this one.
#[derive(Debug)]
pub(crate) struct Futex {
    word: AtomicU32,
    kernel: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    pub(crate) fn new(_: Reach) -> Self {
        Self { word: AtomicU32::new(0), kernel: Mutex::new(()), woken: Condvar::new() }
    }

    pub(crate) fn load(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    pub(crate) fn advance(&self) {
        self.word.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn wait(&self, seen: u32, _: Option<Duration>) {
        let kernel = self.kernel.lock().unwrap();
        if self.word.load(Ordering::SeqCst) == seen {
            drop(self.woken.wait(kernel).unwrap());
        }
    }

    pub(crate) fn wake_all(&self) {
        let _kernel = self.kernel.lock().unwrap();
        self.woken.notify_all();
    }
}
