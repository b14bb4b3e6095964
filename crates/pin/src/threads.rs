//! Creating threads that begin by pinning themselves.

use std::ffi::CStr;
use std::mem::transmute;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use libc::{c_int, c_void, pthread_attr_t, pthread_t};

use coho_preload::{Mask, on_fork, real};

use crate::order;

/// A thread's first function.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;

const ORDER: &CStr = c"COHO_PIN";
/// Holds the mask that the process had before its first thread was pinned, for the programs that it starts: these begin
/// with the pinned thread's mask.
const WIDE: &CStr = c"COHO_PIN_WIDE";

/// What this process does with its threads.
struct Plan {
    /// Not empty; within the mask.
    order: Vec<u32>,
    /// The mask before any thread was pinned.
    wide: Mask,
}

static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
/// Threads created so far, not counting the process's first.
static MADE: AtomicUsize = AtomicUsize::new(0);
static FIRST_IS_PINNED: AtomicBool = AtomicBool::new(false);

/// Gives a program that a pinned thread has started the mask that its parent had before.
pub fn widen() {
    let wide = order::of_variable(WIDE);
    if !wide.is_empty() {
        wide.into_iter().collect::<Mask>().apply();
        // SAFETY: the program has not begun: there is one thread.
        unsafe { libc::unsetenv(WIDE.as_ptr()) };
    }
}

/// What a thread does before its own work.
struct Begin {
    start: Start,
    argument: *mut c_void,
    cpu: u32,
    /// Its creator's mask, which the thread has unless it was given another.
    inherited: Mask,
}

/// Creates a thread that pins itself first.
///
/// # Safety
/// As `pthread_create`.
pub unsafe fn create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(create) = next() else { return libc::EAGAIN };
    let planned = PLAN.get_or_init(plan).as_ref().and_then(|plan| {
        pin_first(plan);
        Some((plan, Mask::current()?))
    });
    let Some((plan, inherited)) = planned else {
        // SAFETY: the caller's promises are handed on.
        return unsafe { create(thread, attributes, start, argument) };
    };
    let cpu = plan.order[(MADE.fetch_add(1, Relaxed) + 1) % plan.order.len()];
    let begin = Box::into_raw(Box::new(Begin { start, argument, cpu, inherited }));
    // SAFETY: as above; the new thread takes what it is given.
    let result = unsafe { create(thread, attributes, run, begin.cast()) };
    if result != 0 {
        // SAFETY: there is no thread that could have taken it.
        drop(unsafe { Box::from_raw(begin) });
    }
    result
}

extern "C" fn run(begin: *mut c_void) -> *mut c_void {
    // SAFETY: `create` made it for this thread alone.
    let Begin { start, argument, cpu, inherited } = *unsafe { Box::from_raw(begin.cast::<Begin>()) };
    if Mask::current() == Some(inherited) {
        Mask::from_iter([cpu]).apply();
    }
    start(argument)
}

/// The C library's function.
fn next() -> Option<Create> {
    static NEXT: OnceLock<Option<Create>> = OnceLock::new();
    *NEXT.get_or_init(|| {
        let found = real(c"pthread_create");
        // SAFETY: a function of that name has that type.
        (!found.is_null()).then(|| unsafe { transmute::<*mut c_void, Create>(found) })
    })
}

fn plan() -> Option<Plan> {
    let wide = Mask::current()?;
    let order: Vec<u32> = order::of_variable(ORDER).into_iter().filter(|&cpu| wide.contains(cpu)).collect();
    (!order.is_empty()).then(|| {
        on_fork(begin_anew);
        Plan { order, wide }
    })
}

/// Pins the process's first thread when it creates another.
fn pin_first(plan: &Plan) {
    // SAFETY: no arguments, and neither can fail.
    let first = unsafe { libc::gettid() == libc::getpid() };
    if first && !FIRST_IS_PINNED.swap(true, Relaxed) {
        let wide = order::to_variable(plan.wide.iter());
        // SAFETY: strings that end with a zero; the process still has one thread.
        unsafe { libc::setenv(WIDE.as_ptr(), wide.as_ptr(), 1) };
        Mask::from_iter([plan.order[0]]).apply();
    }
}

/// In a forked child: its only thread is the first, and free.
unsafe extern "C" fn begin_anew() {
    if let Some(Some(plan)) = PLAN.get() {
        plan.wide.apply();
        MADE.store(0, Relaxed);
        FIRST_IS_PINNED.store(false, Relaxed);
    }
}
