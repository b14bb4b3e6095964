//! Numbers of threads, as compiled code passes them around, and queries by compiled code.

use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, c_void};

use super::own_number;
use crate::exports::resolved;
use crate::here::{Membership, here};
use crate::thread;

/// The numbers of most teams' threads begin here, beyond those that LLVM's runtime gives to others.
const OF_TEAMS: c_int = 1 << 16;

/// The calling thread's number.
#[inline(always)]
pub fn number() -> c_int {
    match thread::this().number.get() {
        0 => assign(),
        number => number - 1,
    }
}

/// A thread that the program made has the number that the program's own runtime would give it: if the process changes
/// over to that, the functions that run now pass it. The members of the initial thread's team have their ranks, as programs
/// expect.
#[cold]
fn assign() -> c_int {
    static NEXT: AtomicI32 = AtomicI32::new(OF_TEAMS);
    let member = of_team(here());
    let number = match member {
        None if resolved("__kmpc_global_thread_num\0").is_some() => own_number(),
        Some(member) if member.region().is_initial => member.rank as c_int,
        _ => NEXT.fetch_add(1, Relaxed),
    };
    thread::this().number.set(number + 1);
    number
}

/// The calling thread as a member of the team that it was made for, given what it is now; `None` for a thread that the
/// program made. The opener of a team is its first member.
fn of_team(membership: &Membership) -> Option<&Membership> {
    let mut member = Some(membership);
    while let Some(inner) = member {
        if inner.rank > 0 {
            return member;
        }
        member = inner.opener();
    }
    None
}

pub extern "C" fn global_thread_num() -> c_int {
    number()
}

pub extern "C" fn bound_thread_num() -> c_int {
    here().rank as c_int
}

pub extern "C" fn bound_num_threads() -> c_int {
    here().size() as c_int
}

pub extern "C" fn in_parallel() -> c_int {
    (here().region().active_level > 0).into()
}

/// The most threads of the task's regions.
pub extern "C" fn set_thread_limit(_place: *const c_void, _number: c_int, limit: c_int) {
    if limit > 0 {
        here().change(|variables| variables.limit = limit as u32);
    }
}

/// Whether a region may be opened.
pub extern "C" fn ok_to_fork() -> c_int {
    1
}

/// The beginning and the end of a program.
pub extern "C" fn nothing() {}
