//! A program may open libraries while it runs (`dlopen`): they are inspected before its next outermost region.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::decide::{self, guests, loaded};
use crate::exports;
use crate::here::here;
use crate::pool;

/// For this long after it began, another thread's opening may still be adding objects, unless that thread shows that it
/// has returned.
const OPENING: Duration = Duration::from_secs(10);

static HAS_TASKS: AtomicBool = AtomicBool::new(false);
/// Openings begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// The threads whose last openings may not be over, and when those began.
static OPENERS: Mutex<Vec<(libc::pthread_t, Instant)>> = Mutex::new(Vec::new());
/// What was inspected before regions, and before other calls.
static REGIONS: Sight = Sight::new();
static CALLS: Sight = Sight::new();

struct Sight {
    /// The number of openings after which everything was inspected.
    seen: AtomicU64,
    /// The number of objects that the loader had added when they were inspected.
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

    /// Inspects what was added; after a failure, the next call inspects it again.
    fn look(&self, through: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let begun = BEGUN.load(Acquire);
        // The order matters: an opening that is over has added all its objects.
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

/// Whether the process is changing over to its own runtime. No region is opened meanwhile.
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

/// Whether no opening is still adding objects. One by this thread is not: even constructors run after all objects are
/// added.
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

/// Whether all opened libraries have been inspected for runtimes of their own.
pub fn are_seen() -> bool {
    CALLS.is_whole()
}

/// Inspects opened libraries for runtimes of their own.
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

/// Records that the objects present at the decision have been inspected.
pub fn looked_through(added: u64) {
    REGIONS.added.store(added, Relaxed);
}

/// Keeps an outermost region, or a loop or sections outside all regions, open until it is dropped; inside a region it
/// does nothing.
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

/// Opens a region here, unless the process has stood aside by now: then that must open it.
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
    // Either the thread that changes over sees this, or this thread sees the change, because of the fence in
    // `order_all`.
    open.store(open.load(Relaxed) + 1, Release);
    let entered = Entered(Some(open));
    if CHANGE.load(Acquire) != NONE && has_changed() {
        return None;
    }
    Some(entered)
}

/// Begins a loop or sections outside all regions, whose end must not be left to another runtime.
#[cold]
pub fn enter_construct() -> Entered {
    enter_outermost().unwrap_or(Entered(None))
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
    // Before taking the lock: this waits for the loader, and a thread inside the loader, in a constructor, may wait for
    // the lock.
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

/// Makes every thread of the process execute a fence, so that opening a region needs none.
fn order_all() -> bool {
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    // SAFETY: the calls take no pointers.
    let command = |command: libc::c_int| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0;
    command(REGISTER_PRIVATE_EXPEDITED) && command(PRIVATE_EXPEDITED)
}

/// Registers a thread's count of what it has open.
pub fn add_thread(open: &AtomicUsize) {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(open.as_ptr() as usize);
}

pub fn remove_thread(open: &AtomicUsize) {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).retain(|&count| count != open.as_ptr() as usize);
}
