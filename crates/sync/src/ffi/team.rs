//! Teams for C.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use super::barrier::algorithm;
use super::coho_sync_status::{self, *};
use super::{hand_out, shielded};
use crate::{Error, Mapping, Member, Schedule, Team, TeamBuilder};

/// A team of threads.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct coho_team {
    busy: AtomicBool,
    team: UnsafeCell<Team>,
}

/// A member of a team during a run; valid only in the thread and for the call that it was handed to.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct coho_member {
    /// What stands behind the pointer is a [`Member`].
    _opaque: [u8; 0],
}

/// What stands behind the pointer.
///
/// # Safety
/// `member` is one that a call of a body was handed, which has not returned.
unsafe fn member<'a>(member: *const coho_member) -> &'a Member<'a> {
    // SAFETY: as the caller promises; `coho_team_run` made the pointer from a member.
    unsafe { &*member.cast() }
}

/// How ranks are laid out on the machine.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub enum coho_mapping {
    /// Threads are pinned, each module, cache or package filled before the next.
    COHO_SEQUENTIAL = 0,
    /// Threads are pinned, spread over packages and caches first.
    COHO_BINARY_TREE = 1,
    /// Threads are not pinned.
    COHO_UNPINNED = 2,
}

/// How the iterations of a loop are shared out.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub enum coho_schedule {
    /// One block for each member, or chunks dealt out in turn where a chunk is given.
    COHO_STATIC = 0,
    /// Chunks to whoever comes first.
    COHO_DYNAMIC = 1,
    /// Chunks that shrink down to the given one.
    COHO_GUIDED = 2,
}

/// What a member does in a run.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type coho_body = Option<unsafe extern "C" fn(argument: *mut c_void, member: *const coho_member)>;

/// What a member does with the iterations from `begin` to before `end`.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type coho_loop_body = Option<unsafe extern "C" fn(argument: *mut c_void, begin: usize, end: usize)>;

/// What the caller of a run hands to its bodies; whether members may share it is the caller's matter.
struct Argument(*mut c_void);

// SAFETY: nothing here follows the pointer.
unsafe impl Sync for Argument {}

impl Argument {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

fn schedule(constant: i32, chunk: usize) -> Option<Schedule> {
    use coho_schedule::*;
    let known = [
        (COHO_STATIC, if chunk == 0 { Schedule::Static } else { Schedule::StaticChunked(chunk) }),
        (COHO_DYNAMIC, Schedule::Dynamic(chunk)),
        (COHO_GUIDED, Schedule::Guided(chunk)),
    ];
    known.into_iter().find(|(name, _)| *name as i32 == constant).map(|(_, schedule)| schedule)
}

fn mapped(builder: TeamBuilder, constant: i32) -> Result<TeamBuilder, Error> {
    use coho_mapping::*;
    match [COHO_SEQUENTIAL, COHO_BINARY_TREE, COHO_UNPINNED].into_iter().find(|&name| name as i32 == constant)
    {
        Some(COHO_SEQUENTIAL) => Ok(builder.mapping(Mapping::Sequential)),
        Some(COHO_BINARY_TREE) => Ok(builder.mapping(Mapping::BinaryTree)),
        Some(COHO_UNPINNED) => Ok(builder.pinned(false)),
        None => Err(Error::Argument(format!("{constant} is no mapping"))),
    }
}

/// Uses a team that nobody else uses meanwhile.
///
/// # Safety
/// `team` is null or a live team.
unsafe fn with(team: *const coho_team, work: impl FnOnce(&mut Team) -> coho_sync_status) -> coho_sync_status {
    // SAFETY: as the caller promises.
    let Some(team) = (unsafe { team.as_ref() }) else { return COHO_SYNC_INVALID };
    if team.busy.swap(true, Ordering::Acquire) {
        return COHO_SYNC_BUSY;
    }
    // SAFETY: whoever found the team not busy has it to itself.
    let status = shielded(COHO_SYNC_OUT_OF_STEP, || work(unsafe { &mut *team.team.get() }));
    team.busy.store(false, Ordering::Release);
    status
}

/// Starts a team of so many members. `mapping` is a `coho_mapping`, `algorithm` with `parameter` as in
/// `coho_barrier_create`. `capacity` is the most members that it can be resized to; 0 means as many as there are CPUs.
///
/// # Safety
/// `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_create(
    size: usize,
    capacity: usize,
    mapping: i32,
    algorithm: i32,
    parameter: usize,
    out: *mut *mut coho_team,
) -> coho_sync_status {
    if out.is_null() {
        return COHO_SYNC_INVALID;
    }
    let start = || {
        let builder = Team::builder(size).algorithm(self::algorithm(algorithm, parameter)?);
        let builder = mapped(builder, mapping)?;
        if capacity == 0 { builder.start() } else { builder.capacity(capacity).start() }
    };
    let team = start().map(|team| coho_team { busy: AtomicBool::new(false), team: UnsafeCell::new(team) });
    // SAFETY: as the caller promises.
    unsafe { hand_out(out, team) }
}

/// Calls `body` once on each member and returns when all calls have returned. The caller is the member of rank 0.
///
/// # Safety
/// `team` is null or a live team; `body` may be called with `argument` on several threads at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_run(
    team: *const coho_team,
    body: coho_body,
    argument: *mut c_void,
) -> coho_sync_status {
    let Some(body) = body else { return COHO_SYNC_INVALID };
    let argument = Argument(argument);
    let run = |team: &mut Team| {
        if team.is_forked() {
            return COHO_SYNC_FORKED;
        }
        team.run(|member| {
            let member = std::ptr::from_ref(member).cast();
            // SAFETY: the caller's promise; the member is alive during the call.
            unsafe { body(argument.get(), member) };
        });
        COHO_SYNC_OK
    };
    // SAFETY: as the caller promises.
    unsafe { with(team, run) }
}

/// Shares out the iterations from `begin` to before `end` and calls `body` for each chunk. `schedule` is a
/// `coho_schedule`, `chunk` its number of iterations or 0.
///
/// # Safety
/// As `coho_team_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_parallel_for(
    team: *const coho_team,
    begin: usize,
    end: usize,
    schedule: i32,
    chunk: usize,
    body: coho_loop_body,
    argument: *mut c_void,
) -> coho_sync_status {
    let (Some(body), Some(schedule)) = (body, self::schedule(schedule, chunk)) else {
        return COHO_SYNC_INVALID;
    };
    let argument = Argument(argument);
    let run = |team: &mut Team| {
        if team.is_forked() {
            return COHO_SYNC_FORKED;
        }
        team.run(|member| {
            // SAFETY: the caller's promise.
            member.for_chunks(begin..end, schedule, |chunk| unsafe {
                body(argument.get(), chunk.start, chunk.end)
            });
        });
        COHO_SYNC_OK
    };
    // SAFETY: as the caller promises.
    unsafe { with(team, run) }
}

/// Changes the number of members, up to the team's capacity. No thread is ended.
///
/// # Safety
/// `team` is null or a live team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_resize(team: *const coho_team, size: usize) -> coho_sync_status {
    let resize = |team: &mut Team| team.resize(size).map_or_else(|error| (&error).into(), |()| COHO_SYNC_OK);
    // SAFETY: as the caller promises.
    unsafe { with(team, resize) }
}

/// Ends a team's threads; null is ignored.
///
/// # Safety
/// `team` is null or came from `coho_team_create`, does not run and will not be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_destroy(team: *mut coho_team) {
    if !team.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(team) });
    }
}

/// The member's number in the team, from 0.
///
/// # Safety
/// `member` is one that this call of a body was handed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_rank(member: *const coho_member) -> usize {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.rank()
}

/// The number of members.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_size(member: *const coho_member) -> usize {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.size()
}

/// Waits until all members have arrived.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_barrier(member: *const coho_member) {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.barrier();
}

/// Shares out a loop among the members of a run, all of which call this; no barrier at the end. Returns
/// `COHO_SYNC_INVALID`, before anything is done, for a null body or an unknown schedule.
///
/// # Safety
/// As `coho_member_rank`, and as `coho_team_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_for(
    member: *const coho_member,
    begin: usize,
    end: usize,
    schedule: i32,
    chunk: usize,
    body: coho_loop_body,
    argument: *mut c_void,
) -> coho_sync_status {
    let (Some(body), Some(schedule)) = (body, self::schedule(schedule, chunk)) else {
        return COHO_SYNC_INVALID;
    };
    // SAFETY: as the caller promises.
    let member = unsafe { self::member(member) };
    // SAFETY: as the caller promises.
    member.for_chunks(begin..end, schedule, |chunk| unsafe { body(argument, chunk.start, chunk.end) });
    COHO_SYNC_OK
}

/// The sum of a value of each member, added in the order of ranks; all members call this.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_sum(member: *const coho_member, value: f64) -> f64 {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.reduce(value, |a, b| a + b)
}

/// Whether this member is the first to come here, and so has to do what one member does.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_single(member: *const coho_member) -> bool {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.single(|| ()).is_some()
}
