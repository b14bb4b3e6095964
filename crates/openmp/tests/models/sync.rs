//! The primitives on the model checker: every interleaving, and weak memory.

use std::cell::Cell;
use std::time::Duration;

pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use loom::sync::{Condvar, Mutex};

/// A planted mistake that the models must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// Exchanges neither release what was done before, nor acquire it.
    Relaxed,
}

thread_local! {
    // All threads of a model run on one thread of the system.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
}

pub(crate) fn make(mistake: Mistake) {
    MISTAKE.set(mistake);
}

/// Loom takes a sequentially consistent access for one that acquires and releases. Compilers put a fence there.
fn order(ordering: Ordering) {
    if ordering == Ordering::SeqCst {
        fence(Ordering::SeqCst);
    }
}

fn of_exchange(ordering: Ordering) -> Ordering {
    if MISTAKE.get() == Mistake::Relaxed { Ordering::Relaxed } else { ordering }
}

macro_rules! atomic {
    ($name:ident: $value:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                order(ordering);
                self.0.load(if ordering == Ordering::SeqCst { Ordering::Acquire } else { ordering })
            }

            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                self.0.store(value, if ordering == Ordering::SeqCst { Ordering::Release } else { ordering });
                order(ordering);
            }

            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                order(ordering);
                let before = self.0.swap(value, of_exchange(ordering));
                order(ordering);
                before
            }
        }
    };
}

atomic!(AtomicBool: bool);
atomic!(AtomicU8: u8);
atomic!(AtomicU32: u32);

impl AtomicU32 {
    pub(crate) fn fetch_add(&self, value: u32, ordering: Ordering) -> u32 {
        self.0.fetch_add(value, of_exchange(ordering))
    }
}

/// A word to sleep on; what the kernel does under its own lock is done under this one. No time passes.
#[derive(Debug)]
pub(crate) struct Futex {
    word: AtomicU32,
    kernel: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(0), kernel: Mutex::new(()), woken: Condvar::new() }
    }

    pub(crate) fn load(&self) -> u32 {
        self.word.load(Ordering::SeqCst)
    }

    pub(crate) fn advance(&self) {
        self.word.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn wait(&self, seen: u32, _: Duration) {
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
