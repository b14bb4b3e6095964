//! What the members of a team do together during a run, for C.

use std::ffi::c_void;

use super::coho_sync_status::{self, *};
use super::shielded;
use super::team::{coho_loop_body, schedule};
use crate::{IdleWork, Member, Turn};

/// A member of a team during a run; valid only in the thread and for the call that it was handed to.
pub struct coho_member {
    /// The pointer really points to a [`Member`].
    _opaque: [u8; 0],
}

/// An iteration's turn in an ordered loop; valid only in the thread and for the call that it was handed to.
pub struct coho_turn {
    /// The pointer really points to a [`Turn`].
    _opaque: [u8; 0],
}

/// How values are combined.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_operation {
    /// The sum; integers wrap.
    COHO_SUM = 0,
    /// The product; integers wrap.
    COHO_PRODUCT = 1,
    /// The smallest; for doubles, the smallest that is not NaN.
    COHO_MIN = 2,
    /// The largest; for doubles, the largest that is not NaN.
    COHO_MAX = 3,
}

/// What is done in a critical section or in an iteration's turn.
pub type coho_section = Option<unsafe extern "C" fn(argument: *mut c_void)>;

/// What a member does with an iteration of an ordered loop.
pub type coho_ordered_body =
    Option<unsafe extern "C" fn(argument: *mut c_void, index: usize, turn: *const coho_turn)>;

/// A valid `coho_operation`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation(coho_operation);

impl Operation {
    pub(super) fn of(constant: i32) -> Option<Self> {
        use coho_operation::*;
        let known = [COHO_SUM, COHO_PRODUCT, COHO_MIN, COHO_MAX];
        known.into_iter().find(|&name| name as i32 == constant).map(Self)
    }

    pub(super) fn of_doubles(self, a: f64, b: f64) -> f64 {
        match self.0 {
            coho_operation::COHO_SUM => a + b,
            coho_operation::COHO_PRODUCT => a * b,
            coho_operation::COHO_MIN => a.min(b),
            coho_operation::COHO_MAX => a.max(b),
        }
    }

    fn of_integers(self, a: i64, b: i64) -> i64 {
        match self.0 {
            coho_operation::COHO_SUM => a.wrapping_add(b),
            coho_operation::COHO_PRODUCT => a.wrapping_mul(b),
            coho_operation::COHO_MIN => a.min(b),
            coho_operation::COHO_MAX => a.max(b),
        }
    }

    /// The value that leaves every double unchanged.
    pub(super) fn identity(self) -> f64 {
        match self.0 {
            coho_operation::COHO_SUM => 0.0,
            coho_operation::COHO_PRODUCT => 1.0,
            coho_operation::COHO_MIN => f64::INFINITY,
            coho_operation::COHO_MAX => f64::NEG_INFINITY,
        }
    }
}

/// The member behind the pointer.
///
/// # Safety
/// `member` is one that a call of a body was handed, which has not returned.
unsafe fn member<'a>(member: *const coho_member) -> &'a Member<'a> {
    // SAFETY: as the caller promises; `coho_team_run` made the pointer from a member.
    unsafe { &*member.cast() }
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

/// Whether there is idle work now.
pub type coho_idle_is_there = Option<unsafe extern "C" fn(argument: *mut c_void) -> bool>;

/// Does a piece of idle work, if nobody else has taken it meanwhile. It must not wait at the barrier that it is done at.
pub type coho_idle_do_some = Option<unsafe extern "C" fn(argument: *mut c_void)>;

/// As `coho_member_barrier`, but does idle work while it waits. Returns `COHO_SYNC_INVALID`, without waiting, if a
/// function is null. A member that must not leave before all work is done must arrive only when none is left.
///
/// # Safety
/// As `coho_member_rank`. Both functions must be safe to call with `argument` on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_barrier_with(
    member: *const coho_member,
    is_there: coho_idle_is_there,
    do_some: coho_idle_do_some,
    argument: *mut c_void,
) -> coho_sync_status {
    let (Some(is_there), Some(do_some)) = (is_there, do_some) else { return COHO_SYNC_INVALID };
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.barrier_with(&Idle { is_there, do_some, argument });
    COHO_SYNC_OK
}

/// Wakes members that sleep at the team's barrier so that they see new idle work. Call it after publishing the work.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_offer_work(member: *const coho_member) {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.offer_work();
}

/// The caller's idle work, which it has promised may run on the waiting thread.
struct Idle {
    is_there: unsafe extern "C" fn(*mut c_void) -> bool,
    do_some: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

impl IdleWork for Idle {
    fn is_there(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (self.is_there)(self.argument) }
    }

    fn do_some(&self) {
        // SAFETY: the caller's promise.
        unsafe { (self.do_some)(self.argument) }
    }
}

/// Divides a loop among the members of a run, all of which call this; there is no barrier at the end. Returns
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

/// As `coho_member_for`, iteration by iteration. Each may do part of its work in its turn (`coho_turn_take`).
///
/// # Safety
/// As `coho_member_for`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_for_ordered(
    member: *const coho_member,
    begin: usize,
    end: usize,
    schedule: i32,
    chunk: usize,
    body: coho_ordered_body,
    argument: *mut c_void,
) -> coho_sync_status {
    let (Some(body), Some(schedule)) = (body, self::schedule(schedule, chunk)) else {
        return COHO_SYNC_INVALID;
    };
    // SAFETY: as the caller promises.
    let member = unsafe { self::member(member) };
    member.for_each_ordered(begin..end, schedule, |index, turn| {
        let turn = std::ptr::from_ref(turn).cast();
        // SAFETY: as the caller promises; the turn is alive during the call.
        unsafe { body(argument, index, turn) };
    });
    COHO_SYNC_OK
}

/// Calls `section` after the turns of all iterations before this one. Returns `COHO_SYNC_INVALID` for a null section,
/// and if the iteration has already had its turn. An iteration that does not take its turn passes it on when it ends.
///
/// # Safety
/// `turn` is one that this call of an ordered loop's body was handed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_turn_take(
    turn: *const coho_turn,
    section: coho_section,
    argument: *mut c_void,
) -> coho_sync_status {
    // SAFETY: as the caller promises; `coho_member_for_ordered` made the pointer from a turn.
    let turn: &Turn<'_> = unsafe { &*turn.cast() };
    match section {
        Some(section) if !turn.is_over() => {
            // SAFETY: as the caller promises.
            turn.ordered(|| unsafe { section(argument) });
            COHO_SYNC_OK
        }
        _ => COHO_SYNC_INVALID,
    }
}

/// Calls `section` while no other member is in a critical section of this team. Critical sections cannot be nested.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_critical(
    member: *const coho_member,
    section: coho_section,
    argument: *mut c_void,
) -> coho_sync_status {
    let Some(section) = section else { return COHO_SYNC_INVALID };
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.critical(|| unsafe { section(argument) });
    COHO_SYNC_OK
}

/// Whether this member is the first to arrive here and so must do what one member does; the others need not wait for
/// it.
///
/// # Safety
/// As `coho_member_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_single(member: *const coho_member) -> bool {
    // SAFETY: as the caller promises.
    unsafe { self::member(member) }.single(|| ()).is_some()
}

/// Combines one double of each member by a `coho_operation`, in the order of ranks, and gives all of them the result.
/// All members call this with the same operation; it takes one barrier. Returns `COHO_SYNC_INVALID` for an unknown
/// operation or a null result, before anything is done, and if another member combines integers meanwhile.
///
/// # Safety
/// As `coho_member_rank`; `result` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_reduce(
    member: *const coho_member,
    operation: i32,
    value: f64,
    result: *mut f64,
) -> coho_sync_status {
    // SAFETY: as the caller promises.
    unsafe { reduce(member, operation, value, Operation::of_doubles, result) }
}

/// As `coho_member_reduce`, for integers.
///
/// # Safety
/// As `coho_member_reduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_member_reduce_int64(
    member: *const coho_member,
    operation: i32,
    value: i64,
    result: *mut i64,
) -> coho_sync_status {
    // SAFETY: as the caller promises.
    unsafe { reduce(member, operation, value, Operation::of_integers, result) }
}

/// # Safety
/// As `coho_member_reduce`.
unsafe fn reduce<T: Copy + Send + 'static>(
    member: *const coho_member,
    operation: i32,
    value: T,
    combine: fn(Operation, T, T) -> T,
    result: *mut T,
) -> coho_sync_status {
    let Some(operation) = Operation::of(operation).filter(|_| !result.is_null()) else {
        return COHO_SYNC_INVALID;
    };
    shielded(COHO_SYNC_INVALID, || {
        // SAFETY: as the caller promises.
        let member = unsafe { self::member(member) };
        let combined = member.reduce(value, |a, b| combine(operation, a, b));
        // SAFETY: not null, and so writable as the caller promises.
        unsafe { result.write(combined) };
        COHO_SYNC_OK
    })
}
