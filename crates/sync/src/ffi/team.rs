//! Teams for C.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::barrier::algorithm;
use super::coho_sync_status::{self, *};
use super::member::{Operation, coho_member};
use super::options::{Chosen, coho_sync_options};
use super::{Argument, hand_out, shielded};
use crate::{Error, Mapping, Member, Schedule, Team, TeamBuilder};

/// A team of threads.
pub struct coho_team {
    busy: AtomicBool,
    team: UnsafeCell<Team>,
}

/// How ranks are laid out on the machine.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_mapping {
    /// Threads are pinned, each module, cache or package filled before the next.
    COHO_SEQUENTIAL = 0,
    /// Threads are pinned, spread over packages and caches first.
    COHO_BINARY_TREE = 1,
    /// Threads are not pinned.
    COHO_UNPINNED = 2,
}

/// How the iterations of a loop are divided among the members.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_schedule {
    /// One block per member, or chunks dealt out in turn if a chunk size is given.
    COHO_STATIC = 0,
    /// Chunks to whichever member asks first.
    COHO_DYNAMIC = 1,
    /// Chunks that shrink down to the given size.
    COHO_GUIDED = 2,
}

/// What a member does in a run.
pub type coho_body = Option<unsafe extern "C" fn(argument: *mut c_void, member: *const coho_member)>;

/// What a run took, in nanoseconds. Each time includes a reading of the clock.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct coho_team_times {
    /// From the caller's start to the last member's start.
    pub fork_ns: f64,
    /// From the last member's start to the last member's end.
    pub work_ns: f64,
    /// From the last member's end to the caller's return.
    pub join_ns: f64,
}

/// What a member does with the iterations from `begin` to before `end`.
pub type coho_loop_body = Option<unsafe extern "C" fn(argument: *mut c_void, begin: usize, end: usize)>;

/// What a member computes from the iterations from `begin` to before `end`.
pub type coho_reduce_body =
    Option<unsafe extern "C" fn(argument: *mut c_void, begin: usize, end: usize) -> f64>;

pub(super) fn schedule(constant: i32, chunk: usize) -> Option<Schedule> {
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
        None => Err(Error::Argument(format!("{constant} is not a mapping"))),
    }
}

/// Uses a team that nobody else is using.
///
/// # Safety
/// `team` is null or a live team.
unsafe fn with(team: *const coho_team, work: impl FnOnce(&mut Team) -> coho_sync_status) -> coho_sync_status {
    // SAFETY: as the caller promises.
    let Some(team) = (unsafe { team.as_ref() }) else { return COHO_SYNC_INVALID };
    if team.busy.swap(true, Ordering::Acquire) {
        return COHO_SYNC_BUSY;
    }
    // SAFETY: whoever finds the team not busy has it to itself.
    let status = shielded(COHO_SYNC_OUT_OF_STEP, || work(unsafe { &mut *team.team.get() }));
    team.busy.store(false, Ordering::Release);
    status
}

/// As [`with`], unless the team's threads stayed with the parent.
///
/// # Safety
/// As [`with`].
unsafe fn with_threads(team: *const coho_team, work: impl FnOnce(&mut Team)) -> coho_sync_status {
    let run = |team: &mut Team| {
        if team.is_forked() {
            return COHO_SYNC_FORKED;
        }
        work(team);
        COHO_SYNC_OK
    };
    // SAFETY: as the caller promises.
    unsafe { with(team, run) }
}

/// Starts a team of `size` members. `mapping` is a `coho_mapping`; `algorithm` and `parameter` are as in
/// `coho_barrier_create`. `capacity` is the most members that it can be resized to; 0 means as many as there are
/// CPUs, or as `options` names. `options` may be null; they are not needed afterwards.
///
/// # Safety
/// As `coho_barrier_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_create(
    size: usize,
    capacity: usize,
    mapping: i32,
    algorithm: i32,
    parameter: usize,
    options: *const coho_sync_options,
    out: *mut *mut coho_team,
) -> coho_sync_status {
    if out.is_null() {
        return COHO_SYNC_INVALID;
    }
    let start = || {
        let builder = Team::builder(size).algorithm(self::algorithm(algorithm, parameter)?);
        let mut builder = mapped(builder, mapping)?;
        // SAFETY: as the caller promises.
        if let Some(chosen) = unsafe { Chosen::of(options, size)? } {
            builder = chosen.of_team(builder);
        }
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
        // SAFETY: the caller's promise.
        team.run(|member| unsafe { call(body, &argument, member) });
    };
    // SAFETY: as the caller promises.
    unsafe { with_threads(team, run) }
}

/// Calls a run's body on a member.
///
/// # Safety
/// It may be called with `argument` on this thread, while others do so.
unsafe fn call(
    body: unsafe extern "C" fn(*mut c_void, *const coho_member),
    argument: &Argument,
    member: &Member<'_>,
) {
    // SAFETY: the caller's promise; the member is alive during the call.
    unsafe { body(argument.get(), std::ptr::from_ref(member).cast()) };
}

/// As `coho_team_run`, but also writes to `times` what fork, work and join took, only if it returns `COHO_SYNC_OK`.
///
/// # Safety
/// As `coho_team_run`; `times` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_run_timed(
    team: *const coho_team,
    body: coho_body,
    argument: *mut c_void,
    times: *mut coho_team_times,
) -> coho_sync_status {
    let Some(body) = body.filter(|_| !times.is_null()) else { return COHO_SYNC_INVALID };
    let argument = Argument(argument);
    let run = |team: &mut Team| {
        // SAFETY: the caller's promise.
        let took = team.run_timed(|member| unsafe { call(body, &argument, member) });
        let [fork_ns, work_ns, join_ns] =
            [took.fork, took.work, took.join].map(|time| time.as_secs_f64() * 1e9);
        // SAFETY: not null, and so writable as the caller promises.
        unsafe { times.write(coho_team_times { fork_ns, work_ns, join_ns }) };
    };
    // SAFETY: as the caller promises.
    unsafe { with_threads(team, run) }
}

/// Divides the iterations from `begin` to before `end` among the members and calls `body` for each chunk. `schedule`
/// is a `coho_schedule`; `chunk` is its number of iterations, or 0.
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
        team.run(|member| {
            // SAFETY: the caller's promise.
            member.for_chunks(begin..end, schedule, |chunk| unsafe {
                body(argument.get(), chunk.start, chunk.end)
            });
        });
    };
    // SAFETY: as the caller promises.
    unsafe { with_threads(team, run) }
}

/// Combines what `body` returns for each chunk of the iterations from `begin` to before `end`, by a `coho_operation`:
/// each member combines its own chunks as they come, then the members' results are combined in the order of ranks.
/// With a static schedule the result is the same each time.
///
/// # Safety
/// As `coho_team_run`; `result` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_team_parallel_reduce(
    team: *const coho_team,
    begin: usize,
    end: usize,
    schedule: i32,
    chunk: usize,
    operation: i32,
    body: coho_reduce_body,
    argument: *mut c_void,
    result: *mut f64,
) -> coho_sync_status {
    let (Some(body), Some(schedule)) = (body, self::schedule(schedule, chunk)) else {
        return COHO_SYNC_INVALID;
    };
    let Some(operation) = Operation::of(operation).filter(|_| !result.is_null()) else {
        return COHO_SYNC_INVALID;
    };
    let argument = Argument(argument);
    let combine = |a, b| operation.of_doubles(a, b);
    let run = |team: &mut Team| {
        let parts: Vec<_> = (0..team.size()).map(|_| Mutex::new(operation.identity())).collect();
        team.run(|member| {
            let mut part = operation.identity();
            // SAFETY: the caller's promise.
            let partial = |chunk: Range<usize>| unsafe { body(argument.get(), chunk.start, chunk.end) };
            member.for_chunks(begin..end, schedule, |chunk| part = combine(part, partial(chunk)));
            *parts[member.rank()].lock().unwrap_or_else(PoisonError::into_inner) = part;
        });
        let parts = parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: not null, and so writable as the caller promises.
        unsafe { result.write(parts.fold(operation.identity(), combine)) };
    };
    // SAFETY: as the caller promises.
    unsafe { with_threads(team, run) }
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
