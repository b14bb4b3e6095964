//! What the program is made of may change while it runs: what it opens (`dlopen`) is looked through before its next
//! outermost region.

use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::decide::{self, guests, loaded};
use crate::exports;
use crate::here::here;
use crate::pool;

/// So long after its beginning an opening by another thread may still be adding objects, unless that thread is heard of.
const OPENING: Duration = Duration::from_secs(10);

static HAS_TASKS: AtomicBool = AtomicBool::new(false);
/// Openings begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// The threads whose last openings may not be over, and when those began.
static OPENERS: Mutex<Vec<(libc::pthread_t, Instant)>> = Mutex::new(Vec::new());
/// What was looked through before regions, and before other calls.
static REGIONS: Sight = Sight::new();
static CALLS: Sight = Sight::new();

struct Sight {
    /// Openings after which all was looked through.
    seen: AtomicU64,
    /// Objects that the loader had added in all when they were looked through.
    added: AtomicU64,
}

impl Sight {
    const fn new() -> Self {
        Self { seen: AtomicU64::new(0), added: AtomicU64::new(0) }
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        BEGUN.load(Relaxed) == self.seen.load(Relaxed)
    }

    /// Has what was added looked through; what speaks against going on is tried again.
    fn look(&self, through: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let begun = BEGUN.load(Acquire);
        // In this order: what is over has added all its objects.
        let over = are_over();
        let added = loaded::added();
        if added != self.added.load(Relaxed) {
            through()?;
            self.added.store(added, Relaxed);
        }
        if over {
            self.seen.store(begun, Relaxed);
        }
        Ok(())
    }
}

/// Whether the process changes over to libgomp. Nobody opens a region meanwhile.
static CHANGE: AtomicU8 = AtomicU8::new(NONE);
const NONE: u8 = 0;
const UNDER_WAY: u8 = 1;
const DONE: u8 = 2;
/// The threads' counts of what they have open.
static THREADS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Whether the program makes tasks.
pub fn has_tasks() -> bool {
    HAS_TASKS.load(Relaxed)
}

pub fn set_has_tasks() {
    HAS_TASKS.store(true, Relaxed);
}

/// The program is about to open a library.
pub fn begin() {
    // SAFETY: it takes no pointers.
    let this = unsafe { libc::pthread_self() };
    let mut openers = OPENERS.lock().unwrap_or_else(PoisonError::into_inner);
    openers.retain(|&(thread, _)| thread != this);
    openers.push((this, Instant::now()));
    drop(openers);
    BEGUN.fetch_add(1, SeqCst);
    exports::ask();
}

/// Whether no opening adds objects any more. One by this thread does not: even what it opens begins after that.
fn are_over() -> bool {
    // SAFETY: as above.
    let this = unsafe { libc::pthread_self() };
    let mut openers = OPENERS.lock().unwrap_or_else(PoisonError::into_inner);
    openers.retain(|&(thread, begun)| thread != this && begun.elapsed() < OPENING);
    openers.is_empty()
}

/// How many openings there have been.
pub fn begun() -> u64 {
    BEGUN.load(SeqCst)
}

/// Whether all that was opened has been looked through for runtimes of its own.
pub fn are_seen() -> bool {
    CALLS.is_whole()
}

/// Looks through what was opened for runtimes of its own.
pub fn see() {
    if !are_seen() {
        let looked = CALLS.look(|| {
            guests::look();
            Ok(())
        });
        debug_assert!(looked.is_ok());
        if are_seen() {
            exports::aim_again();
        }
    }
}

/// What was there at the decision, so many objects, has been looked through.
pub fn looked_through(added: u64) {
    REGIONS.added.store(added, Relaxed);
}

/// An outermost region, or a loop or sections outside all regions, that is open until this goes; or nothing, within a
/// region.
#[derive(Debug)]
pub struct Entered(Option<&'static AtomicUsize>);

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(open) = self.0 {
            open.store(open.load(Relaxed) - 1, Release);
        }
    }
}

/// Opens a region here, unless the process has stood aside by now: then it is libgomp's to open.
#[inline(always)]
pub fn enter() -> Option<Entered> {
    if here().region().level > 0 {
        return Some(Entered(None));
    }
    if !REGIONS.is_whole() && look() {
        return None;
    }
    enter_outermost()
}

#[inline(always)]
fn enter_outermost() -> Option<Entered> {
    let open = pool::outermost();
    // Either whoever changes over sees this, or this thread sees the change: a fence lies between, in `order_all`.
    open.store(open.load(Relaxed) + 1, Release);
    let entered = Entered(Some(open));
    if CHANGE.load(Acquire) != NONE && has_changed() {
        return None;
    }
    Some(entered)
}

/// Begins a loop or sections outside all regions, whose end must not be left to libgomp.
#[cold]
pub fn enter_construct() -> Entered {
    enter_outermost().unwrap_or(Entered(None))
}

/// libgomp's function for what is not served. A program that has it stands aside; one that has just opened it does so now,
/// unless something is open. `name` ends with a zero.
#[cold]
pub fn unserved(name: &str) -> *mut c_void {
    drop(enter());
    exports::resolved(name).expect("the program's libgomp has it")
}

/// Waits until a change is done or given up.
#[cold]
#[inline(never)]
fn has_changed() -> bool {
    while CHANGE.load(Acquire) == UNDER_WAY {
        std::thread::yield_now();
    }
    CHANGE.load(Acquire) == DONE
}

#[cold]
#[inline(never)]
fn look() -> bool {
    REGIONS.look(decide::judge_loaded).is_err_and(|why| change_over(&why))
}

/// Stands aside, unless something is open: the next outermost region tries again.
fn change_over(why: &str) -> bool {
    // Before the lock: it waits for the loader, and one who is in it, as a library begins, may wait for the lock.
    exports::resolve();
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if CHANGE.load(Relaxed) == DONE {
        return true;
    }
    CHANGE.store(UNDER_WAY, SeqCst);
    let ordered = order_all();
    // SAFETY: the count of an entry lives until it is taken from the list.
    let open = threads.iter().any(|&count| unsafe { &*(count as *const AtomicUsize) }.load(SeqCst) > 0);
    let changes = ordered && !open;
    if changes {
        decide::stand_aside(why);
    }
    CHANGE.store(if changes { DONE } else { NONE }, Release);
    changes
}

/// Has every thread of the process go through a fence, so that opening a region needs none.
fn order_all() -> bool {
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    // SAFETY: the calls take no pointers.
    let command = |command: libc::c_int| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0;
    command(REGISTER_PRIVATE_EXPEDITED) && command(PRIVATE_EXPEDITED)
}

/// A thread has a count of what it has open from now on.
pub fn add_thread(open: &AtomicUsize) {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(open.as_ptr() as usize);
}

pub fn remove_thread(open: &AtomicUsize) {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).retain(|&count| count != open.as_ptr() as usize);
}
