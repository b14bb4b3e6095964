//! `teams` on the host. Teams do not wait for each other, so they run one after the other, each with all threads.

use std::cell::Cell;
use std::mem::ManuallyDrop;

use libc::{c_int, c_void};

use super::arguments::{Micro, Words, of_words};
use super::fork::call_as;
use super::memory::own_count;
use crate::exports::chosen;
use crate::here::{Membership, here};
use crate::openings;
use crate::pool::own;
use crate::region;

/// What the compiler has asked for the next `teams`.
#[derive(Debug, Default)]
pub struct League {
    teams: Cell<u32>,
    /// The most threads of each; 0: as many as usual.
    limit: Cell<u32>,
}

fn positive(number: c_int) -> u32 {
    number.max(0) as u32
}

pub extern "C" fn push_num_teams(_place: *const c_void, _number: c_int, teams: c_int, limit: c_int) {
    let league = &own().league;
    league.teams.set(positive(teams));
    league.limit.set(positive(limit));
}

/// The same, where the number of teams may lie between two.
pub extern "C" fn push_num_teams_51(
    place: *const c_void,
    number: c_int,
    least: c_int,
    most: c_int,
    limit: c_int,
) {
    push_num_teams(place, number, if most > 0 { most } else { least }, limit);
}

/// # Safety
/// The compiler's.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn fork_teams() {
    of_words!(fork)
}

unsafe extern "C-unwind" fn fork(
    _place: *const c_void,
    count: c_int,
    micro: Micro,
    registers: *const usize,
    stack: *const usize,
) -> *mut c_void {
    let Some(_entered) = openings::enter() else { return chosen("__kmpc_fork_teams") };
    let league = &own().league;
    let (mut teams, mut limit) = (league.teams.take(), league.limit.take());
    if teams == 0 {
        teams = positive(own_count!("omp_get_max_teams")).max(1);
    }
    if limit == 0 {
        limit = positive(own_count!("omp_get_teams_thread_limit"));
    }
    let count = count.max(0) as usize;
    // SAFETY: the compiler's; a team's membership ends before its region does.
    unsafe {
        let words = Words::new(count, registers, stack);
        for team in 0..teams {
            let region = region::team(here(), (team, teams), limit);
            let mut membership = ManuallyDrop::new(Membership::new(None, &raw const region, 0));
            let before = membership.enter();
            call_as(&membership, micro, count, words.pointer());
            Membership::leave(&mut membership, before);
        }
    }
    std::ptr::null_mut()
}
