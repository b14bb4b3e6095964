//! `teams` on the host, as compiled code begins it.

use std::cell::Cell;

use libc::{c_int, c_void};

use super::arguments::{Micro, Words, of_words};
use super::fork::call_as;
use crate::exports::chosen;
use crate::openings;
use crate::pool::own;
use crate::settings::settings;
use crate::teams;

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

/// So many teams of so many threads each, of which all together have no more than this.
fn within(most: u32, teams: u32, limit: u32) -> (u32, u32) {
    if most == u32::MAX {
        return (teams, limit);
    }
    let teams = teams::or_usual(teams, 1).min(most);
    let each = (most / teams).max(1);
    (teams, if limit == 0 { each } else { limit.min(each) })
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
    let (teams, limit) = within(settings().teams_thread_limit, league.teams.take(), league.limit.take());
    let count = count.max(0) as usize;
    // SAFETY: the compiler's.
    let words = unsafe { Words::new(count, registers, stack) };
    // SAFETY: as above.
    teams::each(teams, limit, 1, |membership| unsafe { call_as(membership, micro, count, words.pointer()) });
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn all_teams_together_keep_to_the_limit() {
        assert_eq!(within(u32::MAX, 0, 0), (0, 0));
        assert_eq!(within(6, 3, 0), (3, 2));
        assert_eq!(within(6, 3, 1), (3, 1));
        assert_eq!(within(6, 4, 5), (4, 1));
        assert_eq!(within(2, 9, 0), (2, 1));
    }
}
