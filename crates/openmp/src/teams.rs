//! `teams` on the host. Teams do not wait for each other, so they run one after the other, each with all threads.

use std::mem::ManuallyDrop;

use libc::{c_uint, c_void};

use crate::exports::own;
use crate::here::{Membership, here};
use crate::region::{self, Body};

/// How many the program's own runtime says there are to be; 0 if it does not.
macro_rules! own_count {
    ($name:literal) => {{
        let function = own(concat!($name, "\0"));
        // SAFETY: the runtime's functions that count have that type.
        function.map_or(0, |function| unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> libc::c_int>(function)().max(0)
                as u32
        })
    }};
}

/// So many teams; if that is 0, as many as the user or the program has chosen, or the usual number.
pub fn or_usual(teams: u32, usual: u32) -> u32 {
    [teams, own_count!("omp_get_max_teams")].into_iter().find(|&count| count > 0).unwrap_or(usual)
}

/// Runs so many teams with at most so many threads each; 0: as many as usual.
pub fn each(teams: u32, limit: u32, usual: u32, work: impl Fn(&Membership)) {
    let teams = or_usual(teams, usual);
    let limit = if limit == 0 { own_count!("omp_get_teams_thread_limit") } else { limit };
    for team in 0..teams {
        let region = region::team(here(), (team, teams), limit);
        // SAFETY: the membership ends before its region does.
        unsafe {
            let mut membership = ManuallyDrop::new(Membership::new(None, &raw const region, 0));
            let before = membership.enter();
            work(&membership);
            Membership::leave(&mut membership, before);
        }
    }
}

/// As many teams as libgomp has.
const USUAL: u32 = 3;

pub unsafe extern "C-unwind" fn teams_reg(
    body: Body,
    data: *mut c_void,
    teams: c_uint,
    limit: c_uint,
    flags: c_uint,
) {
    region::unless_libgomp!(
        "GOMP_teams_reg", body: Body, data: *mut c_void, teams: c_uint, limit: c_uint, flags: c_uint
    );
    // SAFETY: the compiler's.
    each(teams, limit, USUAL, |_| unsafe { body(data) });
}
