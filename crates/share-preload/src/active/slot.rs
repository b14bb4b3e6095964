//! What each thread that is recorded has, in a list that only grows: nothing here waits for another thread, so that a
//! fork at any moment leaves it whole.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr};

use coho_operands::Follower;
use coho_preload::reserve;
use coho_recording::Writer;

use super::allocations::{SEEN, Seen};
use super::handlers::STACK_BYTES;
use super::thread::Start;
use super::tick;

/// One thread's, in lines of its own. Fields that are cells are the thread's own, once it has begun.
#[repr(align(128))]
pub struct Slot {
    next: AtomicPtr<Slot>,
    is_used: AtomicBool,
    /// What a new thread is to do.
    pub start: Cell<Option<(Start, *mut c_void)>>,
    /// Its timer's number; -1 if it has none.
    pub timer: AtomicI32,
    /// When it began.
    pub begun: Cell<u64>,
    /// Its stack, the first address and the first after it.
    pub stack: Cell<(u64, u64)>,
    /// Whether its stack was recorded, where no ticks do it.
    pub is_introduced: Cell<bool>,
    /// The process and the thread, as the kernel numbers them.
    pub process: Cell<u32>,
    pub thread: Cell<u32>,
    /// What its handler uses, which is not interrupted.
    pub handler: UnsafeCell<Handler>,
    /// Where the handler's stack begins, going down; 0 if there was no memory for one.
    pub handler_stack: usize,
    /// What it writes with otherwise.
    pub writer: UnsafeCell<Option<Writer>>,
    /// What was found on its stack.
    pub seen: [Seen; SEEN],
}

/// What the signal handler keeps.
pub struct Handler {
    pub writer: Option<Writer>,
    pub follower: Follower,
    /// Whether the next tick is one of every other that only tells where the thread is: following takes a share of the
    /// time.
    pub is_brief: bool,
    /// Ticks that were followed since the last burst of steps.
    pub ticks: u32,
    /// Steps until its end.
    pub steps: u8,
}

// SAFETY: what is shared is atomic; the rest belongs to the thread that has taken the slot.
unsafe impl Sync for Slot {}

static FIRST: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// So many ticks make a burst of steps due: a thread's first one comes at once.
const MANY: u32 = 1 << 20;

/// All slots.
pub fn all() -> impl Iterator<Item = &'static Slot> {
    let mut next = FIRST.load(Acquire);
    std::iter::from_fn(move || {
        // SAFETY: slots are never freed.
        let slot: &'static Slot = unsafe { next.as_ref()? };
        next = slot.next.load(Relaxed);
        Some(slot)
    })
}

impl Slot {
    /// One that no thread has.
    pub fn take() -> &'static Self {
        let is_free = |slot: &&Self| slot.is_used.compare_exchange(false, true, AcqRel, Relaxed).is_ok();
        if let Some(free) = all().find(is_free) {
            return free;
        }
        let slot: &'static Self = Box::leak(Box::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            is_used: AtomicBool::new(true),
            start: Cell::new(None),
            timer: AtomicI32::new(-1),
            begun: Cell::new(0),
            stack: Cell::new((0, 0)),
            is_introduced: Cell::new(false),
            process: Cell::new(0),
            thread: Cell::new(0),
            handler: UnsafeCell::new(Handler {
                writer: None,
                follower: Follower::default(),
                is_brief: false,
                ticks: MANY,
                steps: 0,
            }),
            handler_stack: reserve(STACK_BYTES).map_or(0, |low| low.as_ptr() as usize + STACK_BYTES),
            writer: UnsafeCell::new(None),
            seen: std::array::from_fn(|_| Seen::default()),
        }));
        let mut first = FIRST.load(Relaxed);
        loop {
            slot.next.store(first, Relaxed);
            match FIRST.compare_exchange(first, ptr::from_ref(slot).cast_mut(), Release, Relaxed) {
                Ok(_) => return slot,
                Err(other) => first = other,
            }
        }
    }

    /// Gives it back, empty. Nobody may use it any more.
    pub fn give_back(&self) {
        self.start.set(None);
        self.is_introduced.set(false);
        self.seen.iter().for_each(Seen::forget);
        self.timer.store(-1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe {
            let handler = &mut *self.handler.get();
            (handler.writer, handler.is_brief) = (None, false);
            *self.writer.get() = None;
        }
        self.is_used.store(false, Release);
    }

    /// Ends its timer, once: the kernel gives the number to the next one that somebody makes.
    pub fn stop_timer(&self) {
        tick::stop(self.timer.swap(-1, Relaxed));
    }

    pub fn is_used(&self) -> bool {
        self.is_used.load(Acquire)
    }
}
