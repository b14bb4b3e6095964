//! Creating threads that begin by pinning themselves.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use libc::{c_int, c_void, pthread_attr_t, pthread_t};

use coho_preload::{Mask, call_next, on_fork};

use crate::{next, order};

/// A thread's first function.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

const ORDER: &CStr = c"COHO_PIN";

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

thread_local! {
    /// The CPU that this thread was pinned to; -1 if none.
    static GIVEN: Cell<i64> = const { Cell::new(-1) };
}

/// Pins the calling thread.
fn pin(cpu: u32) {
    Mask::from_iter([cpu]).apply();
    GIVEN.set(cpu.into());
}

/// The calling thread's mask if it is as it was pinned, and the one that the process had before.
fn pinned() -> Option<(Mask, &'static Mask)> {
    let plan = PLAN.get()?.as_ref()?;
    let given = Mask::from_iter([u32::try_from(GIVEN.get()).ok()?]);
    (Mask::current()? == given).then_some((given, &plan.wide))
}

/// Gives the calling thread the CPUs that the process had before, if it is as it was pinned.
pub fn widen() {
    if let Some((_, wide)) = pinned() {
        wide.apply();
    }
}

/// Does something that starts a program: it begins with the CPUs that the process had before.
pub fn widened<T>(start: impl FnOnce() -> T) -> T {
    let Some((own, wide)) = pinned() else { return start() };
    wide.apply();
    let started = start();
    own.apply();
    started
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
    // SAFETY: the caller's promises are handed on.
    let create = |start: Start, argument| unsafe {
        call_next!(next::pthread_create; thread, attributes, start, argument;
            *mut pthread_t, *const pthread_attr_t, Start, *mut c_void; c_int)
    };
    let planned = PLAN.get_or_init(plan).as_ref().and_then(|plan| {
        pin_first(plan);
        Some((plan, Mask::current()?))
    });
    let Some((plan, inherited)) = planned else {
        return create(start, argument);
    };
    let cpu = plan.order[(MADE.fetch_add(1, Relaxed) + 1) % plan.order.len()];
    let begin = Box::into_raw(Box::new(Begin { start, argument, cpu, inherited }));
    let result = create(run, begin.cast());
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
        pin(cpu);
    }
    start(argument)
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
    // SAFETY: no arguments, and neither can fail. glibc has `gettid` only from 2.30 on.
    let first = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
    if first && !FIRST_IS_PINNED.swap(true, Relaxed) {
        pin(plan.order[0]);
    }
}

/// In a forked child: its only thread is the first, and free.
unsafe extern "C" fn begin_anew() {
    if let Some(Some(plan)) = PLAN.get() {
        plan.wide.apply();
        GIVEN.set(-1);
        MADE.store(0, Relaxed);
        FIRST_IS_PINNED.store(false, Relaxed);
    }
}
