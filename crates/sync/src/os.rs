//! The system calls that waiting uses.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coho_platform::{CpuSet, pin};

use crate::wait::Reach;

/// A word that threads sleep on (futex).
#[derive(Debug)]
pub(crate) struct Futex {
    word: AtomicU32,
    reach: Reach,
}

impl Futex {
    pub(crate) fn new(reach: Reach) -> Self {
        Self { word: AtomicU32::new(0), reach }
    }

    pub(crate) fn load(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    pub(crate) fn advance(&self) {
        self.word.fetch_add(1, Ordering::AcqRel);
    }

    /// Sleeps if the word is `seen`, until woken, for at most `limit`; may wake for no reason.
    pub(crate) fn wait(&self, seen: u32, limit: Option<Duration>) {
        let timeout = limit.map(|limit| libc::timespec {
            tv_sec: limit.as_secs().min(i32::MAX as u64) as libc::time_t,
            tv_nsec: limit.subsec_nanos() as libc::c_long,
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the word lives as long as `self`, and the kernel only reads it and the timeout.
        unsafe {
            libc::syscall(libc::SYS_futex, self.word.as_ptr(), self.call(libc::FUTEX_WAIT), seen, timeout)
        };
    }

    pub(crate) fn wake_all(&self) {
        // SAFETY: the kernel uses the address only to find sleepers.
        unsafe { libc::syscall(libc::SYS_futex, self.word.as_ptr(), self.call(libc::FUTEX_WAKE), i32::MAX) };
    }

    /// The call's number: among the threads of one process the kernel finds sleepers sooner.
    fn call(&self, call: libc::c_int) -> libc::c_int {
        match self.reach {
            Reach::Process => call | libc::FUTEX_PRIVATE_FLAG,
            Reach::Processes => call,
        }
    }
}

/// The monotonic clock in nanoseconds.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure; the monotonic clock exists everywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The CPU that the calling thread runs on, which may have changed by the time this returns.
pub(crate) fn cpu() -> u32 {
    // SAFETY: no pointers. If the kernel cannot tell, the result is negative, and so no CPU's number.
    unsafe { libc::sched_getcpu() as u32 }
}

/// How often threads of this process have been taken off their CPUs though they wanted to run on.
pub(crate) fn preemptions() -> u64 {
    // SAFETY: all fields may be zero, and the kernel fills them.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage.ru_nivcsw as u64
    }
}

/// Moves the calling thread off a CPU if it may run on others; returns whether it has moved. Its affinity is then as
/// before.
pub(crate) fn leave(cpu: u32) -> bool {
    leave_while(cpu, || ())
}

/// As [`leave`]. Sleeping threads are often woken on the waker's CPU however idle the others are, and only a change of
/// affinity is certain to move a running thread. `meanwhile` is called as long as the CPU is left out.
fn leave_while(cpu: u32, meanwhile: impl FnOnce()) -> bool {
    let Ok(before) = pin::allowed() else { return false };
    let elsewhere: CpuSet = before.iter().filter(|&other| other != cpu).collect();
    if elsewhere.is_empty() || elsewhere == before || pin::confine(&elsewhere).is_err() {
        return false;
    }
    meanwhile();
    // What somebody else has chosen for this thread meanwhile stays.
    if pin::allowed().is_ok_and(|now| now == elsewhere) {
        let _ = pin::confine(&before);
    }
    self::cpu() != cpu
}

const MEMBARRIER_GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;
const MEMBARRIER_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers this process to be fenced, all its threads at once, by itself or by others that have registered; returns
/// whether the kernel can (Linux 4.14; 4.16 for several processes).
pub(crate) fn register_membarrier(reach: Reach) -> bool {
    static ALONE: OnceLock<bool> = OnceLock::new();
    match reach {
        Reach::Process => {
            *ALONE.get_or_init(|| membarrier(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED) && fence_everybody(reach))
        }
        // Asked each time: a child of `fork` is another process.
        Reach::Processes => membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED) && fence_everybody(reach),
    }
}

/// A full fence on every running thread of this reach; returns whether it was done.
pub(crate) fn fence_everybody(reach: Reach) -> bool {
    membarrier(match reach {
        Reach::Process => MEMBARRIER_PRIVATE_EXPEDITED,
        Reach::Processes => MEMBARRIER_GLOBAL_EXPEDITED,
    })
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;

    /// On a thread of its own, whose affinity is changed.
    fn apart(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_thread_leaves_a_cpu_and_may_come_back() {
        needs!(Capability::TwoCpus);
        apart(|| {
            let before = pin::allowed().unwrap();
            for cpu in before.iter() {
                // It need not run there.
                leave(cpu);
                assert_eq!(pin::allowed().unwrap(), before);
            }
            let mut during = None;
            let here = cpu();
            leave_while(here, || during = pin::current());
            assert_ne!(during, Some(here));
        });
    }

    #[test]
    fn a_pinned_thread_stays() {
        apart(|| {
            let cpu = pin::allowed().unwrap().first().unwrap();
            pin::to(cpu).unwrap();
            assert!(!leave(cpu));
            assert!(pin::verify(cpu).is_ok());
        });
    }

    #[test]
    fn an_affinity_that_is_set_meanwhile_stays() {
        needs!(Capability::TwoCpus);
        apart(|| {
            let [first, second] = [0, 1].map(|at| pin::allowed().unwrap().iter().nth(at).unwrap());
            let chosen = CpuSet::from_iter([first]);
            leave_while(first, || pin::confine(&chosen).unwrap());
            assert_eq!(pin::allowed().unwrap(), chosen, "not CPU {second} too");
        });
    }
}
