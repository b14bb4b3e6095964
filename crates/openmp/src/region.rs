//! Opening a region: how many members it has, and what each of them begins with.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use coho_sync::{MAX_THREADS, Member};
use libc::{c_uint, c_void};

use crate::binding::{Places, bind};
use crate::here::{Membership, Region, here};
use crate::openings;
use crate::pool;
use crate::settings::{Bind, Settings, settings};

/// What the compiler has made of a region's body.
pub type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// Threads at work, counted only where they are limited.
static AT_WORK: AtomicU32 = AtomicU32::new(1);

/// Hands an outermost region over to libgomp's function of this name if what the program has opened has it stand aside.
macro_rules! unless_libgomp {
    ($name:literal, $($argument:ident: $kind:ty),*) => {
        if $crate::here::here().region().level == 0 && $crate::openings::stand_aside() {
            type Function = unsafe extern "C-unwind" fn($($kind),*);
            // SAFETY: libgomp's function of that name has that type.
            return unsafe {
                std::mem::transmute::<*mut libc::c_void, Function>($crate::exports::aimed($name))($($argument),*)
            };
        }
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
    let size = count(opener, threads, settings);
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
            // SAFETY: as the caller promises.
            unsafe { body(data.pointer()) };
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
        copied: AtomicPtr::new(ptr::null_mut()),
        tasks: None,
        variables,
        share: opener.share,
        places: None,
    };
    let team = if size > 1 { pool::take(size as usize, openings::has_tasks()) } else { None };
    let Some(team) = team else {
        region.size = 1;
        serve(None, &region);
        return;
    };
    region.size = team.size() as u32;
    region.active_level += 1;
    region.tasks = team.tasks();
    if settings.places.is_some() {
        region.places = Places::of(policy(settings, opener, flags), opener.share, region.size);
    }
    if settings.thread_limit != u32::MAX {
        AT_WORK.fetch_add(region.size - 1, Relaxed);
    }
    team.run(|member| serve(Some(member), &region));
    if settings.thread_limit != u32::MAX {
        AT_WORK.fetch_sub(region.size - 1, Relaxed);
    }
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
    if settings.thread_limit != u32::MAX {
        size = size.min(settings.thread_limit.saturating_sub(AT_WORK.load(Relaxed)) + 1);
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
