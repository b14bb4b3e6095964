//! Which region the calling thread is in, and as whom.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use coho_sync::Member;
use libc::c_void;

use crate::affinity::{self, Meeting};
use crate::binding::{Places, Share, bind};
use crate::cancel::Cancel;
use crate::count::Watch;
use crate::frame::Frame;
use crate::group::Group;
use crate::openings;
use crate::pool::own;
use crate::region::Begin;
use crate::settings::{Variables, settings};
use crate::sharing::Sharing;
use crate::task::Tasks;
use crate::thread;

/// A count that members write, kept apart from data that they only read.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct OwnLine(pub AtomicUsize);

/// What the members of a region share.
#[derive(Debug)]
pub struct Region<'a> {
    pub size: u32,
    /// Enclosing regions and this one.
    pub level: u32,
    /// The number of these with more than one member.
    pub active_level: u32,
    /// How many members all teams of its level have if each enclosing region's members open such a region.
    pub width: u32,
    /// The member that opened it; null outside all regions.
    pub opener: *const Membership,
    /// Null outside all regions.
    pub group: *const Group,
    /// What the member of a `single` has left for the others to copy.
    pub copied: AtomicPtr<c_void>,
    /// How many `single`s have had their first member.
    pub singles: OwnLine,
    /// Present if the program has tasks.
    pub tasks: Option<&'a Tasks>,
    /// The initial variables of the members' tasks.
    pub variables: Variables,
    pub begin: Begin,
    /// The opener's part of the places.
    pub share: Option<Share>,
    /// Present if threads are bound.
    pub places: Option<Places>,
    /// Its team's number in a `teams` construct, and how many teams that has.
    pub league: (u32, u32),
    /// Whether it is an outermost one of the thread with the number 0.
    pub is_initial: bool,
    /// Events of a region of one thread that its tasks wait for.
    pub events: AtomicUsize,
    pub cancel: Cancel,
    pub meeting: Meeting,
}

// SAFETY: while the region is open, the member that the pointer leads to changes only its own cells, which others do
// not read.
unsafe impl Sync for Region<'_> {}
// SAFETY: as above.
unsafe impl Send for Region<'_> {}

/// A thread as a member of a region.
#[derive(Debug)]
pub struct Membership {
    /// Null in a team of one.
    member: *const Member<'static>,
    region: *const Region<'static>,
    pub rank: u32,
    /// The task that runs.
    pub task: Cell<*const Frame>,
    pub implicit: Frame,
    pub sharing: Sharing,
    /// Its part of the places, where threads are bound.
    share: Cell<Option<Share>>,
    /// The default allocator; 0 if it is that of the region's opener.
    allocator: Cell<usize>,
    /// Whether it has left tasks to others.
    pub has_left_tasks: Cell<bool>,
}

/// The calling thread's membership of the innermost region.
#[inline(always)]
pub fn here<'a>() -> &'a Membership {
    let here = thread::this().here.get();
    if here.is_null() {
        return outside();
    }
    // SAFETY: it is reset before what it points to goes.
    unsafe { &*here }
}

/// Whether the calling thread is in a region.
pub fn is_within_region() -> bool {
    // SAFETY: as in `here`.
    unsafe { thread::this().here.get().as_ref() }.is_some_and(|here| here.region().level > 0)
}

/// What a thread is outside all regions: the only member of a region of its own.
#[cold]
fn outside<'a>() -> &'a Membership {
    static REGION: OnceLock<Region<'static>> = OnceLock::new();
    let region = REGION.get_or_init(|| Region {
        size: 1,
        level: 0,
        active_level: 0,
        width: 1,
        opener: ptr::null(),
        group: ptr::null(),
        copied: AtomicPtr::new(ptr::null_mut()),
        singles: OwnLine::default(),
        tasks: None,
        variables: settings().variables,
        begin: Begin::Nothing,
        share: None,
        places: None,
        league: (0, 1),
        is_initial: false,
        events: AtomicUsize::new(0),
        cancel: Cancel::default(),
        meeting: Meeting::default(),
    });
    // SAFETY: the region is static.
    let membership = unsafe { Membership::new(None, region, 0) };
    let membership = own().outside.insert(Box::new(membership));
    let membership = ptr::from_ref::<Membership>(membership);
    thread::this().here.set(membership);
    // SAFETY: it stays in its box until the thread ends, and is forgotten before.
    let membership = unsafe { &*membership };
    membership.task.set(&raw const membership.implicit);
    membership
}

impl Membership {
    /// # Safety
    /// Member and region outlive it.
    #[inline(always)]
    pub unsafe fn new(member: Option<&Member<'_>>, region: *const Region<'_>, rank: u32) -> Self {
        Self {
            member: member.map_or(ptr::null(), |member| ptr::from_ref(member).cast()),
            region: region.cast(),
            rank,
            task: Cell::new(ptr::null()),
            implicit: Frame::implicit(),
            sharing: Sharing::new(),
            share: Cell::new(None),
            allocator: Cell::new(0),
            has_left_tasks: Cell::new(false),
        }
    }

    /// Makes the thread act as this member; returns its previous membership.
    #[inline(always)]
    pub fn enter(&self) -> *const Self {
        self.task.set(&raw const self.implicit);
        thread::this().here.replace(self)
    }

    /// Restores the thread's previous membership, and drops what the member still holds.
    ///
    /// # Safety
    /// It is not used again.
    #[inline(always)]
    pub unsafe fn leave(membership: &mut ManuallyDrop<Self>, before: *const Self) {
        thread::this().here.set(before);
        if membership.implicit.has_latest() || membership.sharing.is_shared() {
            // SAFETY: as the caller promises.
            unsafe { ManuallyDrop::drop(membership) };
        }
    }

    /// Call it before the calling thread's membership outside all regions is dropped.
    pub fn forget_here() {
        thread::this().here.set(ptr::null());
    }

    /// None in a team of one.
    #[inline(always)]
    pub fn member(&self) -> Option<&Member<'static>> {
        // SAFETY: it outlives this, as the creator promised.
        unsafe { self.member.as_ref() }
    }

    #[inline(always)]
    pub fn region(&self) -> &Region<'static> {
        // SAFETY: as above.
        unsafe { &*self.region }
    }

    /// How many members its region has. The team knows it, whose lines all have, while the region is in the opener's.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.member().map_or(1, |member| member.size() as u32)
    }

    /// The team's tasks, if the program has any.
    #[inline(always)]
    pub fn tasks(&self) -> Option<&Tasks> {
        if openings::has_tasks() { self.region().tasks } else { None }
    }

    /// The task that runs.
    #[inline(always)]
    pub fn task(&self) -> &Frame {
        // SAFETY: a task is running, so that it is not gone.
        unsafe { &*self.task.get() }
    }

    /// The running task's variables. A member reads its region's variables only when asked, as they are in the opener's
    /// cache line.
    pub fn variables(&self) -> Variables {
        self.task().variables.get().unwrap_or_else(|| self.region().variables)
    }

    /// Changes the running task's variables.
    pub fn change(&self, change: impl FnOnce(&mut Variables)) {
        let mut variables = self.variables();
        change(&mut variables);
        self.task().variables.set(Some(variables));
    }

    /// Its part of the places, where threads are bound.
    pub fn part(&self) -> Option<Share> {
        settings().places.as_ref()?;
        self.share.get().or(self.region().share)
    }

    /// Binds the member's thread, if the region binds threads; returns whether it was elsewhere.
    pub fn bind(&self) -> bool {
        let Some(places) = self.region().places else { return false };
        let share = places.share(self.rank);
        self.share.set(Some(share));
        bind(share.place)
    }

    /// Binds the member's thread, if the region binds threads, and shows it, if the user wants that.
    pub fn prepare(&self) {
        let has_moved = self.bind();
        if settings().displays_affinity {
            affinity::begin(self, has_moved);
        }
    }

    /// The default allocator; 0 if the program has chosen none.
    pub fn allocator(&self) -> usize {
        match (self.allocator.get(), self.opener()) {
            (0, Some(opener)) => opener.allocator(),
            (chosen, _) => chosen,
        }
    }

    /// Chooses it until the region's end.
    pub fn set_allocator(&self, allocator: usize) {
        self.allocator.set(allocator);
    }

    /// The member that opened the region; `None` outside all regions.
    pub fn opener(&self) -> Option<&Self> {
        // SAFETY: the opener of a region stays where it is until the region is closed.
        unsafe { self.region().opener.as_ref() }
    }

    /// This membership or the one at an outer level that has led to it.
    pub fn at_level(&self, level: u32) -> Option<&Self> {
        let mut membership = self;
        while membership.region().level > level {
            membership = membership.opener()?;
        }
        (membership.region().level == level).then_some(membership)
    }

    /// Waits for all members of the region, and until all its tasks are done. Returns whether the region is cancelled, which
    /// ends the wait.
    #[inline(always)]
    pub fn barrier(&self) -> bool {
        if settings().cancels {
            return self.meet();
        }
        let Some(member) = self.member() else {
            self.await_events();
            return false;
        };
        let watch = Watch::start(self.rank, || self.size());
        match self.tasks() {
            None => member.barrier(),
            Some(tasks) => tasks.barrier(self, member),
        }
        watch.end_barrier();
        false
    }
}
