//! Threads: each has a slot and a timer from its first instruction to its last.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use coho_preload::{Errno, call_next, on_fork};
use coho_recording::Writer;
use libc::{c_int, pthread_attr_t, pthread_key_t, pthread_t};

use super::slot::{self, Slot};
use super::{allocations, begin, modules, next, signals, steps, tick};

/// A thread's first function. It may be unwound: that is how a thread is cancelled, and how `pthread_exit` ends it.
pub type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The thread's own, zeros at first.
#[repr(C)]
pub struct This {
    slot: Cell<Option<&'static Slot>>,
    /// Whether the program believes that it has blocked the timers' signal.
    pub is_masked: Cell<bool>,
    /// Whether its slot's writer is in use, by what a signal may have interrupted.
    is_writing: Cell<bool>,
    /// Whether what it allocates now is this library's own: the program's heap is to look as without it, as it decides
    /// which of its objects share lines.
    pub is_own: Cell<bool>,
    /// The first address after its stack; 0 if that is not known.
    pub stack_end: Cell<u64>,
}

coho_preload::thread_storage!("coho_share_thread", This);

/// Whether this process has created a thread, and its threads are recorded.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// Its value has a thread's end noticed.
static END: AtomicU32 = AtomicU32::new(u32::MAX);

impl This {
    pub fn slot(&self) -> Option<&'static Slot> {
        self.slot.get()
    }

    /// Does something of this library's own.
    pub fn on_its_own<T>(&self, work: impl FnOnce() -> T) -> T {
        let was = self.is_own.replace(true);
        let done = work();
        self.is_own.set(was);
        done
    }

    /// Writes with the thread's writer, outside of its signal handler; `None` if nothing is recorded of it.
    pub fn write<T>(&self, write: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        let slot = self.slot.get()?;
        if self.is_writing.replace(true) {
            return None;
        }
        // SAFETY: the thread's own, and not in use.
        let writer = unsafe { &mut *slot.writer.get() };
        let recorder = begin::recorder();
        let writer = match (writer, recorder) {
            (Some(writer), _) => Some(writer),
            (writer, Some(recorder)) => {
                Some(writer.insert(recorder.writer(slot.process.get(), slot.thread.get())))
            }
            _ => None,
        };
        let written = writer.map(write);
        self.is_writing.set(false);
        written
    }
}

/// Creates a thread that is recorded.
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
    if begin::recorder().is_none() || !begin() {
        return create(start, argument);
    }
    let slot = Slot::take();
    slot.start.set(Some((start, argument)));
    let is_masked = this().is_masked.get();
    let result = create(if is_masked { run_masked } else { run }, std::ptr::from_ref(slot).cast_mut().cast());
    if result != 0 {
        slot.give_back();
    }
    result
}

/// Begins to record, when the process creates its first thread. False if nothing can be recorded.
fn begin() -> bool {
    if HAS_BEGUN.swap(true, Relaxed) {
        return END.load(Relaxed) != u32::MAX;
    }
    let _errno = Errno::kept();
    this().on_its_own(begin_here)
}

fn begin_here() -> bool {
    if END.load(Relaxed) == u32::MAX {
        let mut key: pthread_key_t = 0;
        // SAFETY: the function lives as long as the library, which is never unloaded.
        let has_key = unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) } == 0;
        if !has_key || begin::have_ticks() && !tick::choose_signal() {
            return false;
        }
        END.store(key, Relaxed);
        if begin::have_ticks() {
            steps::begin();
        }
        on_fork(forked);
    }
    let slot = this().slot.get().unwrap_or_else(Slot::take);
    enter(slot);
    // Here alone, and as something is unloaded or all ends: a fork while another thread looks at the loader's list
    // would leave its lock held in the child.
    modules::record();
    allocations::report_all();
    true
}

/// Whether this process's threads are recorded.
pub fn is_recorded() -> bool {
    HAS_BEGUN.load(Relaxed) && END.load(Relaxed) != u32::MAX
}

/// The process's first thread allocates before it creates another one.
pub fn introduce_first() {
    unsafe extern "C" {
        /// Where the process's first function found the stack.
        static __libc_stack_end: *const u64;
    }
    this().slot.set(Some(Slot::take()));
    // SAFETY: the loader has set it.
    this().stack_end.set(unsafe { __libc_stack_end } as u64);
}

extern "C-unwind" fn run(slot: *mut c_void) -> *mut c_void {
    // SAFETY: `create` made it for this thread alone.
    let slot: &'static Slot = unsafe { &*slot.cast_const().cast() };
    let begin = slot.start.take();
    enter(slot);
    // Nothing that would have to be dropped lives here: the thread may be unwound.
    match begin {
        Some((start, argument)) => start(argument),
        None => std::ptr::null_mut(),
    }
}

/// Where the creator believes that it has blocked the signal, so does the thread.
extern "C-unwind" fn run_masked(slot: *mut c_void) -> *mut c_void {
    this().is_masked.set(true);
    run(slot)
}

/// The calling thread has this slot from now on.
fn enter(slot: &'static Slot) {
    let _errno = Errno::kept();
    // SAFETY: neither has arguments, or can fail. glibc has `gettid` only from 2.30 on.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    slot.process.set(process as u32);
    slot.thread.set(thread as u32);
    slot.begun.set(tick::time());
    slot.stack.set(stack());
    this().stack_end.set(slot.stack.get().1);
    this().slot.set(Some(slot));
    signals::open();
    // SAFETY: the key was created.
    unsafe { libc::pthread_setspecific(END.load(Relaxed), std::ptr::from_ref(slot).cast()) };
    slot.timer.store(tick::start(thread as libc::pid_t).unwrap_or(-1), Relaxed);
}

/// The calling thread's stack.
fn stack() -> (u64, u64) {
    // SAFETY: zeroed values are valid, and the calls write there alone; the attributes are destroyed once.
    unsafe {
        let mut attributes: pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return (0, 0);
        }
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        let told = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut bytes);
        libc::pthread_attr_destroy(&raw mut attributes);
        if told == 0 { (start as u64, start as u64 + bytes as u64) } else { (0, 0) }
    }
}

/// A thread ends, whichever way.
unsafe extern "C" fn ended(slot: *mut c_void) {
    let _errno = Errno::kept();
    // SAFETY: `enter` set it.
    let slot: &'static Slot = unsafe { &*slot.cast_const().cast() };
    slot.stop_timer();
    // A signal that is on its way finds no slot.
    this().slot.set(None);
    // SAFETY: the thread's own, and its handler finds it no more.
    if let Some(writer) = unsafe { &mut (*slot.handler.get()).writer } {
        writer.write(coho_recording::Record::End { time: tick::time() });
    }
    slot.give_back();
}

/// In a forked process: its only thread has no timer, and others' slots are free.
unsafe extern "C" fn forked() {
    let own = this().slot.get();
    for slot in slot::all().filter(|slot| slot.is_used()) {
        if own.is_some_and(|own| std::ptr::eq(own, slot)) {
            slot.timer.store(-1, Relaxed);
            // SAFETY: the thread's own; without a timer, no handler uses it.
            unsafe {
                (*slot.handler.get()).writer = None;
                *slot.writer.get() = None;
            }
        } else {
            slot.give_back();
        }
    }
    modules::forget();
    allocations::forget_reports();
    HAS_BEGUN.store(false, Relaxed);
}
