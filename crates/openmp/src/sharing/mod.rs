//! How a region's members share out loops and sections.

mod bounds;
mod common;
mod doacross;
mod ffi;
mod general;
mod parallel;
mod sections;

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use coho_sync::Share;

pub use bounds::{Bounds, dealt};
use bounds::{Chunks, Guided};
pub use common::Common;
pub use doacross::*;
pub use ffi::*;
pub use general::*;
pub use parallel::*;
pub use sections::*;

use crate::count;
use crate::here::Membership;
use crate::openings::{self, Entered};
use crate::settings::{Kind, Schedule};

/// A member's part of the construct that it is in.
#[derive(Debug)]
pub struct Sharing {
    /// `None` in a team of one, and if nothing is shared.
    share: UnsafeCell<Option<Share<'static>>>,
    /// Counts what is taken in a team of one.
    alone: AtomicUsize,
    bounds: Cell<Bounds>,
    /// The same, if the schedule is nonmonotonic.
    chunks: Cell<Chunks>,
    schedule: Cell<Schedule>,
    /// Chunks that this member has had of a static schedule.
    had: Cell<u64>,
    guided: Cell<Guided>,
    /// The chunk that it works on, in iterations.
    chunk: Cell<(u64, u64)>,
    is_ordered: Cell<bool>,
    /// Null if the members have none.
    common: Cell<*mut Common>,
    /// How many `single`s the member has come to.
    singles: Cell<usize>,
    /// Set outside all regions.
    entered: UnsafeCell<Option<Entered>>,
}

impl Sharing {
    #[inline(always)]
    pub const fn new() -> Self {
        Self {
            share: UnsafeCell::new(None),
            alone: AtomicUsize::new(0),
            bounds: Cell::new(Bounds::NONE),
            chunks: Cell::new(Chunks::NONE),
            schedule: Cell::new(Schedule::STATIC),
            had: Cell::new(0),
            guided: Cell::new(Guided::NONE),
            chunk: Cell::new((0, 0)),
            is_ordered: Cell::new(false),
            common: Cell::new(ptr::null_mut()),
            singles: Cell::new(0),
            entered: UnsafeCell::new(None),
        }
    }

    /// Whether its member is in a construct.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        // SAFETY: only the member's thread looks there, and nothing of it is borrowed.
        unsafe { (*self.share.get()).is_some() }
    }
}

impl Membership {
    /// Keeps the process from changing over to libgomp before the construct that begins here has ended.
    #[inline]
    fn enter_construct(&self) {
        if self.region().level == 0 {
            // SAFETY: only this thread looks there, and nothing of it is borrowed.
            unsafe { *self.sharing.entered.get() = Some(openings::enter_construct()) };
        }
    }

    #[inline]
    fn leave_construct(&self) {
        // SAFETY: as above.
        unsafe { *self.sharing.entered.get() = None };
    }

    /// Enters a construct.
    #[inline]
    fn enter_share(&self) {
        // SAFETY: only this thread looks there, and nothing of it is borrowed now.
        let share = unsafe { &mut *self.sharing.share.get() };
        *share = self.member().map(|member| member.enter());
        self.sharing.alone.store(0, Relaxed);
    }

    /// Leaves the construct that it is in, if any.
    #[inline]
    pub fn leave_share(&self) {
        // SAFETY: as above.
        let share = unsafe { &mut *self.sharing.share.get() };
        if let (Some(share), Some(member)) = (share.take(), self.member()) {
            member.leave(share);
        }
    }

    fn share(&self) -> Option<&Share<'static>> {
        // SAFETY: as above; what is borrowed is used up before the construct is left.
        unsafe { (*self.sharing.share.get()).as_ref() }
    }

    fn taken(&self) -> &AtomicUsize {
        self.share().map_or(&self.sharing.alone, |share| share.taken())
    }

    /// Whether it is the first to reach a `single`.
    #[inline]
    pub fn is_first(&self) -> bool {
        if self.member().is_none() {
            return true;
        }
        count::count_single(self.rank, || self.size());
        let number = self.sharing.singles.replace(self.sharing.singles.get() + 1);
        // No member reaches the next one before one has been the first here, so the others need not write.
        let begun = &self.region().singles.0;
        begun.load(Relaxed) == number && begun.compare_exchange(number, number + 1, Relaxed, Relaxed).is_ok()
    }

    /// Begins a loop.
    #[inline]
    pub fn begin_loop(&self, bounds: Bounds, schedule: Schedule, is_ordered: bool) {
        count::count_loop(self.rank, || self.size());
        self.enter_construct();
        // Alone there is nothing to share out.
        let schedule = if self.member().is_some() { schedule } else { Schedule::STATIC };
        let sharing = &self.sharing;
        sharing.bounds.set(bounds);
        sharing.schedule.set(schedule);
        sharing.had.set(0);
        sharing.guided.set(Guided::NONE);
        sharing.chunk.set((0, 0));
        sharing.is_ordered.set(is_ordered);
        if is_ordered || schedule.kind != Kind::Static {
            self.enter_share();
        }
        if schedule.kind == Kind::Nonmonotonic {
            sharing.chunks.set(bounds.in_chunks(schedule.chunk.max(1)));
        }
    }

    /// The loop's variable from and to, for the next chunk of the loop that it is in.
    #[inline(always)]
    pub fn next_values(&self) -> Option<(u64, u64)> {
        if self.sharing.schedule.get().kind == Kind::Nonmonotonic {
            let chunks = self.sharing.chunks.get();
            let chunk = self.member()?.take_chunk(self.share()?, chunks.count)?;
            return Some(chunks.values(chunk));
        }
        let chunk = self.next_chunk()?;
        Some(self.sharing.bounds.get().values(&chunk))
    }

    /// The next iterations, in ascending order.
    fn next_chunk(&self) -> Option<Range<u64>> {
        let sharing = &self.sharing;
        if sharing.is_ordered.get() {
            self.pass_ordered();
        }
        let size = u64::from(self.size());
        let count = sharing.bounds.get().count;
        let Schedule { kind, chunk } = sharing.schedule.get();
        let next = match kind {
            Kind::Static => {
                let turn = sharing.had.replace(sharing.had.get() + 1);
                bounds::dealt(count, chunk, (u64::from(self.rank), size), turn)
            }
            Kind::Dynamic | Kind::Nonmonotonic => bounds::take(self.taken(), count, chunk.max(1), size),
            Kind::Guided => {
                let mut guided = sharing.guided.get();
                let next = guided.take(self.taken(), count, chunk.max(1), size);
                sharing.guided.set(guided);
                next
            }
        }?;
        sharing.chunk.set((next.start, next.end));
        Some(next)
    }

    /// The loop that it is in.
    #[inline]
    pub fn bounds(&self) -> Bounds {
        self.sharing.bounds.get()
    }

    /// Ends a loop.
    pub fn end_loop(&self) {
        self.leave_share();
        self.leave_common();
        self.leave_construct();
        self.sharing.is_ordered.set(false);
    }

    /// Waits for the turn of the chunk that it works on.
    pub fn await_ordered(&self) {
        if let (true, Some(member), Some(share)) =
            (self.sharing.is_ordered.get(), self.member(), self.share())
        {
            member.await_turn(share, self.sharing.chunk.get().0 as usize);
        }
    }

    /// Passes the turn on from the chunk that it has worked on, if any.
    fn pass_ordered(&self) {
        let (from, to) = self.sharing.chunk.replace((0, 0));
        if let (true, Some(member), Some(share)) = (from < to, self.member(), self.share()) {
            member.await_turn(share, from as usize);
            share.pass_turn(to as usize);
        }
    }
}
