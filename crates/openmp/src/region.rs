//! Opening a region: how many members it has, and what each of them begins with.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use coho_sync::{MAX_THREADS, Member};
use libc::{c_uint, c_void};

use crate::affinity::Meeting;
use crate::binding::{Places, Room};
use crate::cancel::Cancel;
use crate::count::Watch;
use crate::fit;
use crate::group::Group;
use crate::here::{Membership, OwnLine, Region, here};
use crate::openings;
use crate::pool::{self, Line};
use crate::settings::{Bind, Schedule, processors, settings};
use crate::sharing::Bounds;
use crate::thread;

/// The function that the compiler has made of a region's body.
pub type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// Enters a region; calls libgomp's function of this name instead if a library that the program has opened makes it
/// stand aside.
macro_rules! unless_libgomp {
    ($name:literal, $($argument:ident: $kind:ty),* $(=> $result:ty)?) => {
        let Some(_entered) = $crate::openings::enter() else {
            type Function = unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?;
            // SAFETY: libgomp's function of that name has that type.
            return unsafe {
                std::mem::transmute::<*mut libc::c_void, Function>($crate::exports::chosen($name))($($argument),*)
            };
        };
    };
}

pub(crate) use unless_libgomp;

pub unsafe extern "C-unwind" fn parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) {
    unless_libgomp!("GOMP_parallel", body: Body, data: *mut c_void, threads: c_uint, flags: c_uint);
    // SAFETY: the compiler's.
    unsafe { open(body, data, threads, flags, Begin::Nothing) };
}

/// The construct that each member of a region finds begun.
#[derive(Debug, Clone, Copy)]
pub enum Begin {
    Nothing,
    Loop(Bounds, Schedule),
    /// This many sections.
    Sections(c_uint),
}

/// What each member of a region does.
pub trait Work {
    /// Does it as the only member.
    ///
    /// # Safety
    /// The thread may.
    unsafe fn alone(&self, membership: &Membership);

    /// The address of the compiler's function, by which its executions are known.
    fn function(&self) -> usize;

    /// The function for a team's members, of which there are so many, and what it takes besides the region. The words of the pool's line stay as they
    /// are while the region is open.
    fn order(&mut self, line: &Line, size: u32) -> (Part, [*mut (); 2]);
}

/// A member's part of a region, told by words: the region and two more.
pub type Part = unsafe fn(&Member<'_>, [*mut (); 3]);

/// A function of the compiler's and its data, and the construct that it finds begun.
struct Outlined {
    body: Body,
    data: *mut c_void,
    begins: bool,
}

impl Work for Outlined {
    #[inline(always)]
    unsafe fn alone(&self, _: &Membership) {
        // SAFETY: as the caller promises.
        unsafe { (self.body)(self.data) };
    }

    fn function(&self) -> usize {
        self.body as usize
    }

    #[inline(always)]
    fn order(&mut self, _: &Line, _: u32) -> (Part, [*mut (); 2]) {
        let part = if self.begins { serve_words::<true> } else { serve_words::<false> };
        (part, [self.body as *mut (), self.data.cast()])
    }
}

/// A member's part of a region.
///
/// # Safety
/// The region outlasts it, and any thread may do this work.
#[inline(always)]
pub unsafe fn serve(
    member: Option<&Member<'_>>,
    region: *const Region<'_>,
    begins: bool,
    work: impl FnOnce(&Membership),
) {
    let rank = member.map_or(0, Member::rank) as u32;
    // Dropped by hand, which is quicker than checking whether there is anything to drop. SAFETY: as the caller
    // promises.
    let mut membership = ManuallyDrop::new(unsafe { Membership::new(member, region, rank) });
    if settings().prepares_members {
        membership.prepare();
    }
    let before = membership.enter();
    // A region that begins nothing is not read, as it is in the opener's cache lines.
    if begins {
        match membership.region().begin {
            Begin::Nothing => {}
            Begin::Loop(bounds, schedule) => membership.begin_loop(bounds, schedule, false),
            Begin::Sections(count) => membership.begin_sections(count),
        }
    }
    let watch = Watch::start(rank, || membership.size());
    work(&membership);
    watch.end_work();
    membership.await_events();
    // Members without tasks of their own do others' while they wait for the region's end, which is a barrier already.
    if membership.has_left_tasks.get()
        && let Some(tasks) = membership.tasks()
    {
        tasks.finish(&membership);
    }
    // SAFETY: it ends here.
    unsafe { Membership::leave(&mut membership, before) };
}

/// [`serve`] for a team: the words are the region, the body and its data.
///
/// # Safety
/// As there.
unsafe fn serve_words<const BEGINS: bool>(member: &Member<'_>, [region, body, data]: [*mut (); 3]) {
    // SAFETY: `open` has put the words together.
    unsafe {
        let body = std::mem::transmute::<*mut (), Body>(body);
        serve(Some(member), region.cast_const().cast(), BEGINS, |_| body(data.cast()));
    }
}

/// Runs a body on a team. 0 threads means as many as usual.
///
/// # Safety
/// Any thread may call the body with the data.
#[inline(always)]
pub unsafe fn open(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint, begin: Begin) {
    let begins = !matches!(begin, Begin::Nothing);
    // SAFETY: as the caller promises.
    unsafe { open_for(&mut Outlined { body, data, begins }, threads, flags, begin) };
}

/// As [`open`], for any work.
///
/// # Safety
/// Any thread may do the work.
#[inline(always)]
pub unsafe fn open_for(work: &mut impl Work, threads: c_uint, flags: c_uint, begin: Begin) {
    let opener = here();
    let settings = settings();
    let group = Group::of(opener);
    let mut size = count(opener, threads);
    let execution = match settings.finds_threads && threads == 0 && size > 1 {
        true => fit::execution(work.function(), opener, size),
        false => None,
    };
    if let Some(execution) = &execution {
        size = execution.threads;
    }
    // A team of a league may have a limit of its own.
    let limit = settings.thread_limit.min(opener.variables().limit);
    if limit <= MAX_THREADS as u32 && size > 1 {
        size = 1 + group.reserve(size - 1, limit - 1);
    }
    let (mut region, bind) = begun(opener, flags, begin);
    (region.size, region.group) = (size, ptr::from_ref(group));
    let level = region.level;
    if size > 1 && settings.places.is_some() {
        region.places = Places::of(bind, opener.part(), size);
    }
    let room = Room { places: region.places, teams: opener.region().width };
    let team = if size > 1 { pool::take(size as usize, room, openings::has_tasks()) } else { None };
    let Some(team) = team else {
        group.give_back(size - 1);
        region.size = 1;
        region.places = None;
        // SAFETY: the region lives until the end, and the caller promises the rest.
        unsafe { serve(None, &raw const region, true, |membership| work.alone(membership)) };
        if let Some(execution) = execution {
            execution.end(1);
        }
        return;
    };
    region.size = team.size() as u32;
    group.give_back(size - region.size);
    region.active_level += 1;
    region.width = region.width.saturating_mul(region.size);
    region.tasks = team.tasks();
    if region.size != size && settings.places.is_some() {
        region.places = Places::of(bind, opener.part(), region.size);
    }
    let watch = Watch::start(0, || region.size);
    let (part, [first, second]) = work.order(team.line(), region.size);
    let words = [ptr::from_ref(&region).cast_mut().cast(), first, second];
    // SAFETY: as above; the region may be shared.
    unsafe { team.run(part, words) };
    watch.end_region(level, || team.at_once());
    if let Some(execution) = execution {
        execution.end(region.size);
    }
    group.give_back(region.size - 1);
}

/// A region of one member that this one opens, and how it would bind the threads of more.
#[inline(always)]
fn begun<'a>(opener: &Membership, flags: c_uint, begin: Begin) -> (Region<'a>, Bind) {
    let settings = settings();
    let level = opener.region().level + 1;
    let mut variables = opener.variables();
    if let Some(threads) = settings.threads_within(level) {
        variables.threads = threads;
    }
    let bind = policy(variables.bind, flags);
    if settings.places.is_some() {
        variables.bind = settings.bind_within(level).unwrap_or(bind);
    }
    let region = Region {
        size: 1,
        level,
        active_level: opener.region().active_level,
        width: opener.region().width,
        opener: ptr::from_ref(opener),
        group: opener.region().group,
        copied: AtomicPtr::new(ptr::null_mut()),
        singles: OwnLine::default(),
        tasks: None,
        variables,
        begin,
        share: opener.part(),
        places: None,
        league: opener.region().league,
        is_initial: level == 1 && thread::this().number.get() == 1,
        events: AtomicUsize::new(0),
        cancel: Cancel::default(),
        meeting: Meeting::default(),
    };
    (region, bind)
}

/// A region of one member that this one opens.
pub fn alone(opener: &Membership, flags: c_uint) -> Region<'static> {
    let (region, _) = begun(opener, flags, Begin::Nothing);
    Region { group: ptr::from_ref(Group::of(opener)), ..region }
}

/// A team of a `teams` construct: which of how many, and the most threads of its regions; 0 if there is no limit.
pub fn team(opener: &Membership, league: (u32, u32), limit: u32) -> Region<'static> {
    let (region, _) = begun(opener, 0, Begin::Nothing);
    let mut variables = opener.variables();
    if limit > 0 {
        variables.limit = variables.limit.min(limit);
        variables.threads = variables.threads.min(limit);
    }
    Region { level: opener.region().level, league, variables, ..region }
}

/// How many members a region gets if it asks for `asked`; 0 means as many as its opener's task says.
fn count(opener: &Membership, asked: u32) -> u32 {
    let variables = opener.variables();
    if asked == 1 || opener.region().active_level >= variables.max_active_levels {
        return 1;
    }
    let mut size = if asked == 0 { variables.threads } else { asked };
    if variables.is_dynamic {
        size = size.min(processors());
    }
    size.clamp(1, variables.limit.min(MAX_THREADS as u32))
}

/// The clause's policy, or the opener's.
fn policy(openers: Bind, flags: c_uint) -> Bind {
    match (openers, flags & 7) {
        (Bind::False, _) => Bind::False,
        (_, 2) => Bind::Primary,
        (_, 3) => Bind::Close,
        (_, 4) => Bind::Spread,
        (openers, _) => openers,
    }
}
