//! Opening a region: how many members it has, and what each of them begins with.

use std::ptr;
use std::sync::atomic::AtomicPtr;

use coho_sync::{MAX_THREADS, Member};
use libc::{c_uint, c_void};

use crate::binding::{Places, bind};
use crate::count::Watch;
use crate::group::Group;
use crate::here::{Membership, Region, here};
use crate::openings;
use crate::pool;
use crate::settings::{Bind, Settings, settings};

/// What the compiler has made of a region's body.
pub type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// Enters a region; hands it over to libgomp's function of this name if what the program has opened has it stand aside.
macro_rules! unless_libgomp {
    ($name:literal, $($argument:ident: $kind:ty),*) => {
        let Some(_entered) = $crate::openings::enter() else {
            type Function = unsafe extern "C-unwind" fn($($kind),*);
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
    unsafe { open(body, data, threads, flags, |_| ()) };
}

/// Runs a body on a team; each member does what `prepare` says first. 0 threads means as many as usual.
///
/// # Safety
/// Any thread may call the body with the data.
#[inline(always)]
pub unsafe fn open(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
    prepare: impl Fn(&Membership) + Sync,
) {
    let opener = here();
    let settings = settings();
    let group = Group::of(opener);
    let mut size = count(opener, threads, settings);
    if settings.thread_limit != u32::MAX {
        size = 1 + group.reserve(size - 1, settings.thread_limit - 1);
    }
    let data = Data(data);
    let serve = |member: Option<&Member<'_>>, region: &Region<'_>| {
        let rank = member.map_or(0, Member::rank) as u32;
        // SAFETY: the run outlasts the membership.
        let mut membership = unsafe { Membership::new(member, region, rank) };
        if let Some(places) = region.places {
            let share = places.share(rank);
            bind(share.place);
            membership.share = Some(share);
        }
        membership.serve(|membership| {
            prepare(membership);
            let watch = Watch::start(region.size, rank);
            // SAFETY: as the caller promises.
            unsafe { body(data.pointer()) };
            watch.end_work();
            if region.tasks.is_some() {
                membership.barrier();
            }
        });
    };
    let level = opener.region().level + 1;
    let mut variables = opener.task().variables.get();
    if let Some(threads) = settings.threads_within(level) {
        variables.threads = threads;
    }
    let mut region = Region {
        size,
        level,
        active_level: opener.region().active_level,
        opener: ptr::from_ref(opener),
        group: ptr::from_ref(group),
        copied: AtomicPtr::new(ptr::null_mut()),
        tasks: None,
        variables,
        share: opener.share,
        places: None,
    };
    let team = if size > 1 { pool::take(size as usize, openings::has_tasks()) } else { None };
    let Some(team) = team else {
        group.give_back(size - 1);
        region.size = 1;
        serve(None, &region);
        return;
    };
    region.size = team.size() as u32;
    group.give_back(size - region.size);
    region.active_level += 1;
    region.tasks = team.tasks();
    if settings.places.is_some() {
        region.places = Places::of(policy(settings, opener, flags), opener.share, region.size);
    }
    let watch = Watch::start(region.size, 0);
    team.run(|member| serve(Some(member), &region));
    watch.end_region(level);
    group.give_back(region.size - 1);
}

/// As the compiler hands it over: for every member.
struct Data(*mut c_void);

// SAFETY: whoever opens a region promises that any thread may use it.
unsafe impl Sync for Data {}

impl Data {
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// How many members a region gets that asks for so many; 0: as many as its opener's task says.
fn count(opener: &Membership, asked: u32, settings: &Settings) -> u32 {
    let variables = opener.task().variables.get();
    if asked == 1 || opener.region().active_level >= variables.max_active_levels {
        return 1;
    }
    let mut size = if asked == 0 { variables.threads } else { asked };
    if variables.is_dynamic {
        size = size.min(settings.processors);
    }
    size.clamp(1, MAX_THREADS as u32)
}

/// The clause's policy, or the user's.
fn policy(settings: &Settings, opener: &Membership, flags: c_uint) -> Bind {
    let chosen = settings.bind_within(opener.region().level);
    match (chosen, flags & 7) {
        (Bind::False, _) => Bind::False,
        (_, 2) => Bind::Primary,
        (_, 3) => Bind::Close,
        (_, 4) => Bind::Spread,
        (chosen, _) => chosen,
    }
}
