//! Writes that return before they are done.
//!
//! All of the process's go through one queue to one host, so that they are done in the order in which they were accepted,
//! whoever wrote, through whichever descriptor. The payload is copied. What others could observe waits until the queue is
//! empty: [`drain`].

mod age;
mod copy;
pub mod errors;
pub mod guards;
mod lock;
mod pace;

use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, compiler_fence};
use std::time::{Duration, Instant};

use age::{Ages, ticks};
pub use errors::take_error;

use coho_delegate::{Request, Rest};
use coho_preload::line;
use guards::{Blocked, Errno, NotCancelled};
use libc::c_int;
use lock::Lock;
use pace::{LOOK, Pace};

use crate::calls::Call;
use crate::descriptors::MOST;
use crate::hooks;
use crate::hosts::{self, Way};
use crate::readable::is_readable;
use crate::runtime;
use crate::thread::this;

/// Writes on their way, and the longest.
const LINES: usize = 16;
const SLOT_BYTES: usize = 16 << 10;
/// Pauses between two looks at the clock.
const LOOKS: u32 = 16;
/// A host that finishes no write for so long, or as long as the patience that is set, is taken to be off its CPU: the thread that
/// waits does what it has not begun. Interrupts and hypervisors stop a CPU for some 30 to 100 us now and then.
const PATIENCE: Duration = Duration::from_micros(100);
/// For so long an idle host may need to begin.
const WAKING: Duration = Duration::from_millis(2);
/// With so much patience hosts execute all that is asked of them.
const EXECUTES_ALL: Duration = Duration::from_secs(1);

/// Whether there may be writes that are not done.
pub static PENDING: AtomicBool = AtomicBool::new(false);
/// The same, where calls that stdio makes cannot be seen: its functions wait in their place.
pub static UNSEEN: AtomicBool = AtomicBool::new(false);
static OFFICE: Lock<Office> = Lock::new(Office {
    queue: None,
    rest: Rest::new(),
    pace: Pace::new(),
    epoch: None,
    pauses: 0,
    sleeps: false,
    is_called: false,
});
/// Writes that are done at once before somebody looks whether the host is worth asking again, and how many at a time.
static UNASKED: AtomicU32 = AtomicU32::new(0);
const CALLS: u32 = 16;
/// The host ends after this many times.
const LONG_PAUSE: u32 = 128;
/// Writes accepted: changed at the queue alone.
static ACCEPTED: AtomicU64 = AtomicU64::new(0);
/// Writes done.
static DONE: Apart = Apart(AtomicU64::new(0));

/// In cache lines of its own: the host writes to it while others read what is beside it.
#[repr(align(128))]
struct Apart(AtomicU64);

/// The queue, if there is one now, and what is known of whether to use it.
struct Office {
    queue: Option<Queue>,
    rest: Rest,
    pace: Pace,
    epoch: Option<Instant>,
    pauses: u32,
    /// The host had nothing to do during a rest, and sleeps perhaps.
    sleeps: bool,
    /// A request is on its way that shows when it is awake.
    is_called: bool,
}

struct Queue {
    way: Way,
    ages: Ages,
}

/// Whether writes are done at once for a while, without another look.
#[inline(always)]
pub fn rests() -> bool {
    let left = UNASKED.load(Relaxed);
    left > 0 && {
        // Of two threads, one may count for both.
        UNASKED.store(left - 1, Relaxed);
        true
    }
}

/// Accepts a write if it can be done later: returns what the call does. `None`: it is to be done now.
pub fn accept(descriptor: c_int, buffer: *const c_void, bytes: usize) -> Option<isize> {
    if bytes == 0 || bytes > SLOT_BYTES || !is_readable_throughout(buffer as usize, bytes) {
        return None;
    }
    if this().at_queue.get() || this().at_once.get() {
        // The first: a handler has interrupted this thread at the queue.
        return None;
    }
    comes_to_queue(true);
    let mut office = OFFICE.lock();
    // It may have ended meanwhile.
    let accepted = runtime::writes_later() && office.goes_on() && {
        // SAFETY: handed on.
        unsafe { office.add(descriptor, buffer.cast(), bytes) }
    };
    drop(office);
    comes_to_queue(false);
    accepted.then_some(bytes as isize)
}

/// The calling thread is about to take the queue, or has left it. A handler that interrupts it meanwhile must know, or it
/// would wait for the thread that it has interrupted: the compiler is not to move this past the lock.
#[inline(always)]
fn comes_to_queue(comes: bool) {
    compiler_fence(SeqCst);
    this().at_queue.set(comes);
    compiler_fence(SeqCst);
}

/// Has all writes within done before they return.
pub fn at_once<T>(work: impl FnOnce() -> T) -> T {
    let before = this().at_once.replace(true);
    let result = work();
    this().at_once.set(before);
    result
}

impl Office {
    /// Whether the next write is done later.
    #[inline(always)]
    fn goes_on(&mut self) -> bool {
        if self.rest.lasts(|| since(self.epoch)) {
            self.pauses();
            return false;
        }
        (!self.sleeps || self.wakes())
            && (self.pace.is_free() || self.decides())
            && (self.queue.is_some() || self.open())
    }

    /// Has some writes done at once. A host that nobody asks for long ends: beside it calls at home take longer.
    #[cold]
    fn pauses(&mut self) {
        UNASKED.store(CALLS, Relaxed);
        self.sleeps = true;
        self.pauses += 1;
        if self.pauses.is_multiple_of(LONG_PAUSE) {
            self.close();
        }
    }

    /// Whether the host is awake after a rest. Without this look, the first writes would find it late, and begin the next rest.
    #[cold]
    fn wakes(&mut self) -> bool {
        if let Some(queue) = self.queue.as_mut()
            && (!self.is_called || queue.way.caller.room() < LINES)
        {
            if !self.is_called && queue.way.caller.room() == LINES {
                queue.ages.clear();
                // SAFETY: the function takes anything.
                unsafe { queue.way.caller.post(Request::function(nothing, [0; 5])) };
                self.is_called = true;
            }
            UNASKED.store(CALLS, Relaxed);
            return false;
        }
        (self.sleeps, self.is_called) = (false, false);
        true
    }

    /// As [`goes_on`](Self::goes_on), where both ways are being compared, or writes are made at home.
    #[cold]
    fn decides(&mut self) -> bool {
        let goes_on = self.pace.next(ticks(), ACCEPTED.load(Relaxed)) == pace::Way::Later;
        if !goes_on {
            UNASKED.store(LOOK - 1, Relaxed);
            self.close();
        }
        goes_on
    }

    /// Makes a queue.
    #[cold]
    fn open(&mut self) -> bool {
        // That takes memory, which a handler may not.
        if runtime::may_be_handler() {
            return false;
        }
        let _errno = Errno::kept();
        // A handler that ends the process would wait for the lock that is held here.
        let _blocked = Blocked::all();
        let Some(mut way) = hosts::way(runtime::teams().of(Call::Write), LINES, SLOT_BYTES) else {
            return false;
        };
        // The host may be idle, and slow to begin.
        way.caller.set_patience(WAKING);
        // SAFETY: the function takes anything.
        unsafe { way.caller.post(Request::function(nothing, [0; 5])) };
        way.caller.drain();
        // Other threads execute in `take_back` alone, where no handler interrupts them: so a handler may wait for the host
        // wherever it has interrupted its thread.
        way.caller.set_patience(Duration::MAX);
        self.queue = Some(Queue { way, ages: Ages::new(runtime::flush()) });
        self.epoch.get_or_insert_with(Instant::now);
        true
    }

    /// Ends the queue once it is empty, and hosts that nobody uses.
    fn close(&mut self) {
        if self.queue.is_none() || runtime::may_be_handler() {
            return;
        }
        let _errno = Errno::kept();
        let _not_cancelled = NotCancelled::now();
        // As in `open`.
        let _blocked = Blocked::all();
        self.wait_until(|queue| queue.way.caller.room() == LINES);
        is_empty();
        self.queue = None;
        hosts::end_idle();
    }

    /// Somebody waits for the queue. Where hosts are to execute all, whatever that costs, nobody asks.
    fn is_waited_for(&mut self) {
        if runtime::patience().is_none_or(|patience| patience < EXECUTES_ALL) {
            self.pace.waited(ACCEPTED.load(Relaxed));
        }
    }

    /// Waits until something holds of the queue, or does itself what the host has not begun. If that costs more than a small part
    /// of the time, writes are then done at once for a while.
    #[cold]
    fn wait_until(&mut self, holds: impl Fn(&mut Queue) -> bool) {
        let Some(queue) = &mut self.queue else { return };
        let patience = runtime::patience().unwrap_or(PATIENCE);
        let (mut begun, mut done) = (Instant::now(), DONE.0.load(Relaxed));
        while !holds(queue) {
            let now_done = DONE.0.load(Relaxed);
            if now_done != done {
                (begun, done) = (Instant::now(), now_done);
            } else if begun.elapsed() >= patience {
                queue.take_back();
                self.rest.begin(nanoseconds(begun.elapsed()), since(self.epoch));
                self.pace.disturbed(ACCEPTED.load(Relaxed));
                return;
            }
            (0..LOOKS).for_each(|_| std::hint::spin_loop());
        }
    }

    /// Whether there is a queue, to which this was added.
    ///
    /// # Safety
    /// The buffer, no longer than a slot, can be read.
    #[inline(always)]
    unsafe fn add(&mut self, descriptor: c_int, buffer: *const u8, bytes: usize) -> bool {
        let now = ticks();
        let Some(queue) = &mut self.queue else { return false };
        if !queue.way.caller.has_room() || queue.ages.overdue(now).is_some() {
            self.is_waited_for();
            self.wait_until(|queue| queue.are_none_overdue(now) && queue.way.caller.has_room());
        }
        let Some(queue) = &mut self.queue else { return false };
        // SAFETY: handed on.
        unsafe { queue.add(now, descriptor, buffer, bytes) };
        true
    }
}

impl Queue {
    /// Does what is accepted and not begun, and waits for what is.
    fn take_back(&mut self) {
        let _blocked = Blocked::all();
        self.way.caller.set_patience(Duration::ZERO);
        self.way.caller.drain();
        self.way.caller.set_patience(Duration::MAX);
        self.ages.clear();
    }

    /// # Safety
    /// The buffer, no longer than a slot, can be read.
    #[inline(always)]
    unsafe fn add(&mut self, now: u64, descriptor: c_int, buffer: *const u8, bytes: usize) {
        let slot = self.way.caller.slot();
        // SAFETY: as the caller promises.
        unsafe { copy::copy(buffer, slot.as_mut_ptr(), bytes) };
        let arguments = [descriptor as usize, slot.as_ptr() as usize, bytes, 0, 0];
        PENDING.store(true, Relaxed);
        UNSEEN.store(!hooks::see_stdio(), Relaxed);
        // SAFETY: the slot is the request's own until it is done.
        let ticket = unsafe { self.way.caller.post(Request::function(write_all, arguments)) };
        // Behind the post: a handler waits for all that is counted, and can wait for no more.
        ACCEPTED.store(ACCEPTED.load(Relaxed) + 1, Release);
        self.ages.add(now, ticket);
    }

    /// Whether no write was accepted too long ago that is not done.
    fn are_none_overdue(&mut self, now: u64) -> bool {
        while let Some(ticket) = self.ages.overdue(now) {
            if self.way.caller.poll(ticket).is_none() {
                return false;
            }
            self.ages.is_done();
        }
        true
    }
}

fn since(epoch: Option<Instant>) -> u64 {
    epoch.map_or(0, |epoch| nanoseconds(epoch.elapsed()))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Host: writes all, unless an earlier write to the descriptor has failed, which nobody knows of yet.
unsafe fn write_all([descriptor, at, bytes, ..]: [usize; 5]) -> isize {
    let mut written = 0;
    while written < bytes && !errors::is_set(descriptor) {
        let arguments = [descriptor, at + written, bytes - written, 0, 0, 0];
        // SAFETY: the slot holds as much.
        match unsafe { Request::system(libc::SYS_write, arguments).execute().result() } {
            Ok(0) => errors::set(descriptor, libc::EIO),
            Ok(more) => written += more,
            Err(libc::EINTR) => {}
            Err(number) => errors::set(descriptor, number),
        }
    }
    DONE.0.fetch_add(1, Release);
    written as isize
}

unsafe fn nothing(_: [usize; 5]) -> isize {
    0
}

/// Waits until all that was accepted is done.
#[inline(always)]
pub fn drain() {
    if PENDING.load(Relaxed) {
        drain_all();
    }
}

/// Writes accepted so far.
pub fn accepted() -> u64 {
    ACCEPTED.load(Relaxed)
}

/// Prints what waiting for writes has led to; nothing if a handler has interrupted the calling thread at the queue, whose
/// lock it may hold.
pub fn print() {
    if this().at_queue.get() {
        return;
    }
    let found = OFFICE.lock().pace.found();
    if let Some((times, way)) = found {
        let now = match way {
            pace::Way::Home => "made at home",
            pace::Way::Later => "done later",
        };
        line(
            "delegate",
            format_args!("writes had to be waited for: after {times} comparisons, they are {now}"),
        );
    }
}

#[cold]
fn drain_all() {
    if hosts::is_host() {
        return;
    }
    if this().at_queue.get() || runtime::is_at_home() {
        // A handler, or a thread that must not hold the queue: the host does without the queue's owner.
        let accepted = ACCEPTED.load(Acquire);
        while DONE.0.load(Acquire) < accepted && !runtime::is_forked() {
            std::thread::yield_now();
        }
        return;
    }
    comes_to_queue(true);
    let mut office = OFFICE.lock();
    if !runtime::is_forked() {
        if office.queue.as_mut().is_some_and(|queue| queue.way.caller.room() < LINES) {
            office.is_waited_for();
            office.wait_until(|queue| queue.way.caller.room() == LINES);
        }
        office.queue.iter_mut().for_each(|queue| queue.ages.clear());
    }
    is_empty();
    drop(office);
    comes_to_queue(false);
}

/// There are none: all are done, or it is another process's matter.
pub fn is_empty() {
    PENDING.store(false, Relaxed);
    UNSEEN.store(false, Relaxed);
}

/// At the end: waits, and says what nobody was told.
pub fn end() {
    drain();
    for descriptor in 0..MOST as c_int {
        if let Some(number) = take_error(descriptor) {
            let why = std::io::Error::from_raw_os_error(number);
            line("delegate", format_args!("not all was written to descriptor {descriptor}: {why}"));
        }
    }
}

fn is_readable_throughout(from: usize, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    from.checked_add(bytes)
        .is_some_and(|end| (from / PAGE..=(end - 1) / PAGE).all(|page| is_readable(page * PAGE)))
}
