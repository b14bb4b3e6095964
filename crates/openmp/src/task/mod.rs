//! Explicit tasks: each member has a queue of its own, takes the latest from it, and the oldest from others' when it is empty.

mod bell;
mod both;
mod event;
mod ffi;
mod group;
mod listed;
mod nap;
mod order;
mod reduction;
#[cfg(test)]
mod reduction_tests;
mod run;
mod workshare;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::iter;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_deque::{Steal, Stealer, Worker};
use libc::c_void;

pub use bell::Bell;
pub use event::{Event, fulfil};
pub use ffi::*;
pub use group::Group;
pub use listed::*;
pub use nap::{Wait, wait_until};
use order::Order;
pub use order::{Dependence, Latest};
pub use reduction::{Begin, Combine, Copies, End, Item, Reduction};
pub use run::{begin_group, end_group};
pub use workshare::*;

use crate::frame::{Frame, Parent};
use crate::here::{Membership, Region};
use crate::settings::settings;

/// A member with this many waiting tasks, for each member of the team, executes the next ones that it creates at once.
const MOST_WAITING: usize = 64;
/// Tasks that a member creates before it checks how many wait: others take from them, so the check fetches a line. This
/// is less than the number that may wait, so that others do not run out meanwhile.
const BETWEEN_LOOKS: isize = 16;

/// The function that the compiler has made of a task.
pub type Work = unsafe extern "C-unwind" fn(*mut c_void);

/// The tasks of a team, region after region.
#[derive(Debug)]
pub struct Tasks {
    queues: Box<[Queue]>,
    stealers: Box<[Stealer<Arc<Explicit>>]>,
    /// For each queue, its oldest task, if a member took it that may not execute it now: waiting tasks may only be
    /// interrupted by their descendants. There is at most one, so that queues still show how many tasks there are. A
    /// waiting member need not reach the tasks behind it: the queue's own member executes them as soon as it may, and
    /// so do members that wait for no task.
    shelves: Box<[Mutex<Shelf>]>,
    /// How many tasks are shelved. Changed under the shelf's lock.
    shelved: AtomicUsize,
    /// Tasks that became free when a thread of any team fulfilled an event; they count as shelved.
    freed: Mutex<Vec<Arc<Explicit>>>,
    /// How many tasks ended when an event was fulfilled.
    fulfilled: AtomicUsize,
    /// Rung when a task's children or a group's tasks that others wait for are done.
    ended: Bell,
    /// Rung for members that wait for any task, or for the end of all tasks.
    offered: Bell,
    /// The region of the tasks and the team's run, for members that execute tasks outside the region's body. They stay as
    /// long as some task is not finished.
    region: AtomicPtr<Region<'static>>,
    run: AtomicPtr<()>,
}

/// A task that some members may not execute now.
type Shelf = Option<Arc<Explicit>>;

/// A member's.
#[derive(Debug)]
#[repr(align(128))]
struct Queue {
    waiting: Worker<Arc<Explicit>>,
    /// How many tasks may be added until the next check; below 0, tasks are executed at once.
    room: Cell<isize>,
    /// The number of tasks that the member has created; below, that it has finished. Only the member writes them.
    made: AtomicUsize,
    finished: AtomicUsize,
}

// SAFETY: only the member of its rank uses a queue's `waiting` and `room`.
unsafe impl Sync for Tasks {}

/// A task that waits or runs.
#[derive(Debug)]
pub struct Explicit {
    frame: Frame,
    work: Work,
    argument: Argument,
    /// Whether it runs even if it is cancelled before: what its data needs at the end, its body does, or it looks itself.
    runs_anyway: bool,
    /// Present if it depends on others, or others may depend on it.
    order: Option<Box<Order>>,
    /// Present if it is not over before this is fulfilled.
    event: Option<Box<Event>>,
}

// SAFETY: the frame's cells are used by the thread that creates the task, and then by the one that runs it, with a
// queue in between. The link to its ancestors has a lock of its own. The compiler's argument may be used on any thread.
unsafe impl Send for Explicit {}
// SAFETY: as above.
unsafe impl Sync for Explicit {}

/// The most bytes that lie in the task itself.
const SMALL: usize = 128;

/// A task's copy of its data.
#[derive(Debug)]
enum Argument {
    /// Up to 128 bytes need no allocation of their own.
    Small(Cell<[MaybeUninit<u128>; SMALL / 16]>),
    /// Null once it is freed.
    Large(Cell<*mut u8>, Layout),
}

impl Argument {
    fn new(layout: Layout) -> Self {
        if layout.size() <= SMALL && layout.align() <= 16 {
            return Self::Small(Cell::new([const { MaybeUninit::uninit() }; SMALL / 16]));
        }
        // SAFETY: the size is not 0.
        let memory = unsafe { alloc(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Self::Large(Cell::new(memory), layout)
    }

    fn pointer(&self) -> *mut c_void {
        match self {
            Self::Small(bytes) => bytes.as_ptr().cast(),
            Self::Large(memory, _) => memory.get().cast(),
        }
    }

    /// The task has run, or never will.
    #[inline(always)]
    fn free(&self) {
        if let Self::Large(memory, layout) = self {
            let memory = memory.replace(ptr::null_mut());
            if !memory.is_null() {
                // SAFETY: allocated with this layout.
                unsafe { dealloc(memory, *layout) };
            }
        }
    }
}

impl Drop for Argument {
    fn drop(&mut self) {
        self.free();
    }
}

impl Explicit {
    /// A child of the membership's present task, which is left to others or executed at once.
    fn new(
        membership: &Membership,
        work: Work,
        layout: Layout,
        (is_final, is_left, runs_anyway): (bool, bool, bool),
        order: Option<Box<Order>>,
    ) -> Arc<Self> {
        let parent = membership.task();
        let link = if parent.depth == 0 {
            Parent::Implicit(parent)
        } else {
            // SAFETY: frames of other depths than 0 lie in an `Explicit` in an `Arc`, which runs now.
            unsafe {
                let explicit =
                    ptr::from_ref(parent).byte_sub(std::mem::offset_of!(Self, frame)).cast::<Self>();
                Arc::increment_strong_count(explicit);
                Parent::Explicit(Arc::from_raw(explicit))
            }
        };
        let frame = if is_left { Frame::child } else { Frame::below };
        let frame = frame(parent, link, is_final);
        let argument = Argument::new(layout);
        Arc::new(Self { frame, work, argument, runs_anyway, order, event: None })
    }

    /// A child of the membership's present task that is not counted yet: its data is to be written first.
    pub fn prepared(membership: &Membership, work: Work, layout: Layout, is_final: bool) -> Arc<Self> {
        Self::new(membership, work, layout, (is_final, false, true), None)
    }

    /// Has a prepared task, which only its maker has, be counted as unfinished by the task that made it, which runs.
    pub fn count(task: &Arc<Self>, membership: &Membership, order: Option<Box<Order>>) {
        // SAFETY: nobody else uses it yet; its event only keeps it.
        let task = unsafe { &mut *Arc::as_ptr(task).cast_mut() };
        task.order = order;
        task.frame.count(membership.task());
    }

    /// Its data.
    pub fn argument(&self) -> *mut c_void {
        self.argument.pointer()
    }

    pub fn has_event(&self) -> bool {
        self.event.is_some()
    }

    /// Has a prepared task be over only when an event is fulfilled, too.
    ///
    /// # Safety
    /// Only the caller has the task.
    pub unsafe fn add_event(task: *const Self, membership: &Membership) -> *const Event {
        // SAFETY: as the caller promises.
        unsafe {
            let event = Event::new(task, membership);
            ptr::from_ref(&**(*task.cast_mut()).event.insert(event))
        }
    }

    pub fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Tasks {
    pub fn new(members: usize) -> Self {
        let queue = || Queue {
            waiting: Worker::new_lifo(),
            room: Cell::new(0),
            made: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
        };
        let queues: Box<[_]> = iter::repeat_with(queue).take(members).collect();
        Self {
            stealers: queues.iter().map(|queue| queue.waiting.stealer()).collect(),
            shelves: iter::repeat_with(Mutex::default).take(members).collect(),
            queues,
            shelved: AtomicUsize::new(0),
            freed: Mutex::default(),
            fulfilled: AtomicUsize::new(0),
            ended: Bell::default(),
            offered: Bell::default(),
            region: AtomicPtr::default(),
            run: AtomicPtr::default(),
        }
    }

    /// Whether a member's queue takes one more task, in a team of this size.
    #[inline(always)]
    fn has_room(&self, rank: u32, size: u32) -> bool {
        let Queue { waiting, room, .. } = &self.queues[rank as usize];
        if room.get() == 0 {
            let is_full = settings().bounds_tasks && waiting.len() >= MOST_WAITING * size as usize;
            room.set(if is_full { -BETWEEN_LOOKS } else { BETWEEN_LOOKS });
        }
        let left = room.get();
        room.set(left - left.signum());
        left > 0
    }

    /// Counts a new task, for which all wait.
    pub fn has_made(&self, membership: &Membership) {
        let made = &self.queues[membership.rank as usize].made;
        made.store(made.load(Relaxed) + 1, Relaxed);
        if !membership.has_left_tasks.replace(true) {
            self.lead_to(membership);
        }
    }

    /// Lets who executes the next tasks find their region. Written only if it has changed, as others read the line.
    fn lead_to(&self, membership: &Membership) {
        let region = ptr::from_ref(membership.region()).cast_mut();
        let run = membership.member().map_or(ptr::null_mut(), |member| member.run().cast_mut());
        if self.region.load(Relaxed) != region {
            self.region.store(region, Relaxed);
        }
        if self.run.load(Relaxed) != run {
            self.run.store(run, Relaxed);
        }
    }

    /// Rung for members that wait for the end of all tasks, or meanwhile for something else.
    pub fn bell_for_all(&self) -> &Bell {
        &self.offered
    }

    /// Adds a task for any member to execute.
    fn add(&self, rank: u32, task: Arc<Explicit>) {
        self.queues[rank as usize].waiting.push(task);
    }

    /// The caller does not use the region any more unless it is a member in its body.
    pub fn has_finished(&self, rank: u32) {
        let finished = &self.queues[rank as usize].finished;
        finished.store(finished.load(Relaxed) + 1, Release);
    }

    /// Whether some task waits to be executed.
    fn any_waits(&self) -> bool {
        self.shelved.load(Relaxed) > 0 || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    /// Whether all tasks have been done at some time after the call began.
    fn all_are_finished(&self) -> bool {
        // Each task is created before it is finished. So equal sums mean that all tasks created by the time of the
        // first sum were finished.
        let fulfilled = self.fulfilled.load(Acquire);
        let finished: usize =
            self.queues.iter().map(|queue| queue.finished.load(Acquire)).fold(fulfilled, usize::wrapping_add);
        let made: usize =
            self.queues.iter().map(|queue| queue.made.load(Acquire)).fold(0, usize::wrapping_add);
        finished == made
    }

    /// A task for a member to execute: any, or only a descendant of `waiting`.
    fn take(&self, rank: u32, waiting: Option<&Frame>) -> Option<Arc<Explicit>> {
        let may = |task: &Explicit| waiting.is_none_or(|frame| task.frame.descends_from(frame));
        let Queue { waiting: own, room, .. } = &self.queues[rank as usize];
        if let Some(task) = own.pop() {
            if may(&task) {
                room.set(room.get().max(0));
                return Some(task);
            }
            // Tasks further down are older than the waiting task.
            own.push(task);
        }
        if self.shelved.load(Relaxed) > 0
            && let Some(task) = self
                .shelves
                .iter()
                .find_map(|shelf| self.take_shelved(&mut lock(shelf), may))
                .or_else(|| self.take_freed(may))
        {
            return Some(task);
        }
        let (size, rank) = (self.stealers.len(), rank as usize);
        let mut others = (rank + 1..size).chain(0..rank);
        match waiting {
            None => others.find_map(|other| steal(|| self.stealers[other].steal_batch_and_pop(own))),
            Some(_) => others.find_map(|other| self.steal_if(other, may)),
        }
    }

    fn take_shelved(&self, shelf: &mut Shelf, may: impl Fn(&Explicit) -> bool) -> Option<Arc<Explicit>> {
        let task = shelf.take_if(|task| may(task))?;
        self.shelved.fetch_sub(1, Relaxed);
        Some(task)
    }

    fn take_freed(&self, may: impl Fn(&Explicit) -> bool) -> Option<Arc<Explicit>> {
        let mut freed = lock(&self.freed);
        let at = freed.iter().position(|task| may(task))?;
        self.shelved.fetch_sub(1, Relaxed);
        Some(freed.swap_remove(at))
    }

    /// Adds a task for any member to execute, on whatever thread.
    fn free(&self, task: Arc<Explicit>) {
        let mut freed = lock(&self.freed);
        self.shelved.fetch_add(1, Relaxed);
        freed.push(task);
    }

    /// The oldest task of a member's queue, if it may be executed; otherwise it goes on the shelf.
    fn steal_if(&self, other: usize, may: impl Fn(&Explicit) -> bool) -> Option<Arc<Explicit>> {
        if self.stealers[other].is_empty() {
            return None;
        }
        let mut shelf = lock(&self.shelves[other]);
        if shelf.is_some() {
            return None;
        }
        let task = steal(|| self.stealers[other].steal())?;
        if may(&task) {
            return Some(task);
        }
        self.shelved.fetch_add(1, Relaxed);
        *shelf = Some(task);
        None
    }
}

fn lock<T>(shelf: &Mutex<T>) -> MutexGuard<'_, T> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

fn steal(from: impl Fn() -> Steal<Arc<Explicit>>) -> Option<Arc<Explicit>> {
    loop {
        match from() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
