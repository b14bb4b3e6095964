//! Distributing processes: each takes the next CPU of a list, with the help of a file that all processes of a job
//! share.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

use coho_preload::{Mask, on_fork, setting};

use crate::order;

const ORDER: &CStr = c"COHO_DEAL";
const TURNS: &CStr = c"COHO_DEAL_TURNS";
/// How many processes that have had their turn are remembered.
const SLOTS: usize = 8191;

/// What the file holds.
#[repr(C)]
struct Turns {
    next: AtomicU32,
    /// Processes that have had their turn, at their number modulo the length: a process that executes another program
    /// keeps its CPU.
    had: [AtomicI32; SLOTS],
}

/// Bytes of the file that are used.
pub const TURNS_BYTES: usize = size_of::<Turns>();

struct Deal {
    order: Vec<u32>,
    turns: &'static Turns,
}

static DEAL: OnceLock<Deal> = OnceLock::new();
/// The CPU that this process was confined to last; -1 before that.
static GIVEN: AtomicI32 = AtomicI32::new(-1);

/// Gives this process its CPU, and each that it forks one of its own. Does nothing without both variables.
pub fn begin() {
    let order = order::of_variable(ORDER);
    let Some(turns) = map().filter(|_| !order.is_empty()) else { return };
    let deal = DEAL.get_or_init(|| Deal { order, turns });
    deal.take_turn();
    on_fork(forked);
}

impl Deal {
    fn take_turn(&self) {
        // SAFETY: no arguments, and it cannot fail.
        let pid = unsafe { libc::getpid() };
        let slot = &self.turns.had[pid as usize % SLOTS];
        if slot.load(Relaxed) == pid {
            // It was given a CPU before it executed this program, or its parent has given it other CPUs since.
            return remember(only_cpu());
        }
        let turn = self.turns.next.fetch_add(1, Relaxed) as usize;
        let cpu = self.order[turn % self.order.len()];
        Mask::from_iter([cpu]).apply();
        slot.store(pid, Relaxed);
        remember(only_cpu());
    }
}

/// In a forked process. Does nothing if the parent's CPUs have been changed since it was given one.
unsafe extern "C" fn forked() {
    let Some(deal) = DEAL.get() else { return };
    if only_cpu().is_some_and(|cpu| cpu as i32 == GIVEN.load(Relaxed)) {
        return deal.take_turn();
    }
    // SAFETY: no arguments, and it cannot fail.
    let pid = unsafe { libc::getpid() };
    deal.turns.had[pid as usize % SLOTS].store(pid, Relaxed);
    remember(None);
}

fn remember(cpu: Option<u32>) {
    GIVEN.store(cpu.map_or(-1, |cpu| cpu as i32), Relaxed);
}

/// The only CPU of this thread's mask.
fn only_cpu() -> Option<u32> {
    let mask = Mask::current()?;
    let mut cpus = mask.iter();
    let first = cpus.next()?;
    cpus.next().is_none().then_some(first)
}

/// The file, mapped for as long as the process lives.
fn map() -> Option<&'static Turns> {
    let path = CString::new(setting(TURNS)?).ok()?;
    // SAFETY: a string that ends with a zero; the descriptor is closed below.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: zeroed values are valid, and the calls write there alone.
    let size = unsafe {
        let mut told: libc::stat = std::mem::zeroed();
        if libc::fstat(file, &mut told) == 0 { told.st_size } else { 0 }
    };
    let mapped = if size as usize >= TURNS_BYTES {
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of a file that is long enough.
        unsafe { libc::mmap(std::ptr::null_mut(), TURNS_BYTES, access, shared, file, 0) }
    } else {
        libc::MAP_FAILED
    };
    // SAFETY: nothing else owns it.
    unsafe { libc::close(file) };
    // SAFETY: as long as the type, aligned to a page, never unmapped; integers of any value.
    (mapped != libc::MAP_FAILED).then(|| unsafe { &*mapped.cast::<Turns>() })
}
