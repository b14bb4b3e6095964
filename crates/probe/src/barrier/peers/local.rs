//! Peers that any thread can wait at.

use std::cell::UnsafeCell;

use crate::Error;
use crate::barrier::burst::{Bursts, bursts};
use crate::workers::Workers;

/// A peer of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::barrier) enum Local {
    /// The C library's.
    Pthread,
    /// The standard library's.
    Std,
    /// Crate hurdles: central, spinning.
    Hurdles,
}

impl Local {
    pub(in crate::barrier) const ALL: [Self; 3] = [Self::Pthread, Self::Std, Self::Hurdles];

    pub(in crate::barrier) fn name(self) -> &'static str {
        match self {
            Self::Pthread => "pthread_barrier",
            Self::Std => "std::sync::Barrier",
            Self::Hurdles => "hurdles",
        }
    }

    /// Times of one barrier, in ns.
    pub(in crate::barrier) fn bursts(
        self,
        workers: &Workers,
        cpus: &[u32],
        count: Bursts,
    ) -> Result<Vec<f64>, Error> {
        match self {
            Self::Pthread => {
                let barrier = Pthread::new(cpus.len())?;
                bursts(workers, cpus, count, &|_| || barrier.wait())
            }
            Self::Std => {
                let barrier = std::sync::Barrier::new(cpus.len());
                bursts(workers, cpus, count, &|_| {
                    || {
                        barrier.wait();
                    }
                })
            }
            Self::Hurdles => {
                let barrier = hurdles::Barrier::new(cpus.len());
                bursts(workers, cpus, count, &|_| {
                    let mut mine = barrier.clone();
                    move || {
                        mine.wait();
                    }
                })
            }
        }
    }
}

pub(in crate::barrier) struct Pthread(Box<UnsafeCell<libc::pthread_barrier_t>>);

// SAFETY: made for several threads; its place does not change.
unsafe impl Sync for Pthread {}

impl Pthread {
    pub(in crate::barrier) fn new(threads: usize) -> Result<Self, Error> {
        // SAFETY: a type of plain integers.
        let barrier = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed() }));
        // SAFETY: valid for writes; initialised once.
        match unsafe { libc::pthread_barrier_init(barrier.get(), std::ptr::null(), threads as u32) } {
            0 => Ok(Self(barrier)),
            error => {
                let error = std::io::Error::from_raw_os_error(error);
                Err(Error::system("pthread_barrier_init", error))
            }
        }
    }

    pub(in crate::barrier) fn wait(&self) {
        // SAFETY: initialised; lives as long as anybody waits.
        unsafe { libc::pthread_barrier_wait(self.0.get()) };
    }
}

impl Drop for Pthread {
    fn drop(&mut self) {
        // SAFETY: initialised, and nobody waits any more.
        unsafe { libc::pthread_barrier_destroy(self.0.get()) };
    }
}
