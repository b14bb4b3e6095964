//! Loops of which each team has a part, and each of its members a part of that: `distribute parallel for` as flang and
//! newer compilers begin it.

use std::ops::Range;

use libc::{c_int, c_void};

use super::deal::Deal;
use super::loops::{is_chunked, schedule};
use crate::here::{Membership, here};
use crate::sharing::{Bounds, dealt};

/// The calling thread's team's part of a loop, and whether it has the last iteration. If it has none, its first comes
/// after its last.
fn part(membership: &Membership, bounds: &Bounds) -> (Range<u64>, bool) {
    let (count, (team, teams)) = (bounds.count, membership.region().league);
    let range = dealt(count, 0, (team.into(), teams.into()), 0).unwrap_or(count..count);
    let has_last = range.end == count && range.start < count;
    (range, has_last)
}

macro_rules! distributed {
    ($($value:ident as $wide:ident, $distance:ident, $is_signed:literal: $for_init:ident, $dispatch_init:ident, $team_init:ident;)*) => { $(
        /// The first chunk of the calling thread, the last value of its team's part, and the way to the next chunk.
        pub unsafe extern "C-unwind" fn $for_init(
            _place: *const c_void, _number: c_int, given: c_int, has_last: *mut c_int, lower: *mut $value,
            upper: *mut $value, teams_upper: *mut $value, stride: *mut $distance, step: $distance, chunk: $distance,
        ) {
            let membership = here();
            // SAFETY: the compiler's.
            unsafe {
                let (from, to) = (*lower as $wide as u64, *upper as $wide as u64);
                let bounds = Bounds::through(from, to, step as i64, $is_signed);
                let (range, mut is_last) = part(membership, &bounds);
                let (from, to) = bounds.ends(&range);
                *teams_upper = to as $value;
                *stride = (*upper).wrapping_sub(*lower) as $distance;
                if range.is_empty() {
                    (*lower, *upper) = (from as $value, to as $value);
                } else {
                    let deal = if is_chunked(given) { Deal::Chunks(chunk.max(1) as u64) } else { Deal::Shares };
                    let own = Bounds::through(from, to, step as i64, $is_signed);
                    let mine = deal.first(&own, membership.rank.into(), membership.size().into());
                    is_last &= mine.has_last;
                    (*lower, *upper) = (mine.lower as $value, mine.upper as $value);
                    if is_chunked(given) {
                        *stride = mine.stride as $distance;
                    }
                }
                if let Some(has_last) = has_last.as_mut() {
                    *has_last = is_last.into();
                }
            }
        }

        pub unsafe extern "C-unwind" fn $dispatch_init(
            _place: *const c_void, _number: c_int, given: c_int, has_last: *mut c_int, lower: $value, upper: $value,
            step: $distance, chunk: $distance,
        ) {
            let membership = here();
            let bounds = Bounds::through(lower as $wide as u64, upper as $wide as u64, step as i64, $is_signed);
            let (range, is_last) = part(membership, &bounds);
            // SAFETY: the compiler's.
            if let Some(has_last) = unsafe { has_last.as_mut() } {
                *has_last = is_last.into();
            }
            let own = match bounds.ends(&range) {
                _ if range.is_empty() => Bounds::NONE,
                (from, to) => Bounds::through(from, to, step as i64, $is_signed),
            };
            let (schedule, is_ordered) = schedule(given, chunk.max(1) as u64, own.count);
            membership.begin_loop(own, schedule, is_ordered);
        }

        /// The first chunk of the calling thread's team, and the way to its next one.
        pub unsafe extern "C-unwind" fn $team_init(
            _place: *const c_void, _number: c_int, has_last: *mut c_int, lower: *mut $value, upper: *mut $value,
            stride: *mut $distance, step: $distance, chunk: $distance,
        ) {
            let (team, teams) = here().region().league;
            // SAFETY: the compiler's.
            unsafe {
                let bounds =
                    Bounds::through(*lower as $wide as u64, *upper as $wide as u64, step as i64, $is_signed);
                if bounds.count == 0 {
                    return;
                }
                let length = chunk.max(1) as u64;
                let mine = Deal::Chunks(length).first(&bounds, team.into(), teams.into());
                let from = u64::from(team).saturating_mul(length);
                let ends_early = from.saturating_add(length) > bounds.count;
                *lower = mine.lower as $value;
                *upper = if ends_early { *upper } else { mine.upper as $value };
                *stride = mine.stride as $distance;
                if let Some(has_last) = has_last.as_mut() {
                    *has_last = mine.has_last.into();
                }
            }
        }
    )* };
}

distributed! {
    i32 as i64, i32, true: dist_for_static_init_4, dist_dispatch_init_4, team_static_init_4;
    u32 as u64, i32, false: dist_for_static_init_4u, dist_dispatch_init_4u, team_static_init_4u;
    i64 as i64, i64, true: dist_for_static_init_8, dist_dispatch_init_8, team_static_init_8;
    u64 as u64, i64, false: dist_for_static_init_8u, dist_dispatch_init_8u, team_static_init_8u;
}
